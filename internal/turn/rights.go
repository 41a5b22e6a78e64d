package turn

import (
	"context"
	"fmt"
	"slices"

	"fika"
	"fika/internal/llm"
	"fika/internal/rights/guard"
	"fika/internal/tool"
)

// Bounds says what a turn may do, within what its tools allow.
type Bounds interface {
	// Effective returns the rights that a turn has now, within those of whoever caused
	// its request where that applies.
	Effective(ctx context.Context, cause *fika.Rights, tainted bool) *fika.Rights
	// Confine returns how the processes of a call are confined to rights r. The call may
	// do what opened says, too.
	Confine(r *fika.Rights, opened Opened) tool.Confinement
}

// permits holds what the turn may do, and which tools its model is offered.
type permits struct {
	*assignment
	exposure  *exposure
	bounds    Bounds
	tools     *tool.Set
	rights    *fika.Rights // nil: everything its tools allow
	committed string       // the passed rights as last committed
	// found are the deferred tools that searches in this conversation have found, in the
	// order in which they were.
	found []string
}

// boundNow updates what the turn may do, because a person may have changed it.
func (p *permits) boundNow(ctx context.Context) {
	if p.bounds != nil {
		p.rights = p.bounds.Effective(ctx, p.claimed.Request.Rights, p.exposure.taint.Tainted())
	}
}

// confined returns the rights that processes are confined to.
func (p *permits) confined() *fika.Rights { return guard.ConfinedRights(p.rights, p.mode) }

// passedRights returns the rights that requests caused by the turn get.
func (p *permits) passedRights() *fika.Rights { return guard.PassedRights(p.rights, p.exposure.hosts) }

// newlyPassed returns the passed rights if they differ from those last committed, else
// nil.
func (p *permits) newlyPassed() *fika.Rights {
	r := p.passedRights()
	if text := fmt.Sprintf("%+v", r); r != nil && text != p.committed {
		p.committed = text
		return r
	}
	return nil
}

// offeredSpecs lists the tools that the model is offered: deferred ones at the end, as they
// were found, so that what is before them stays as it was. Where no search may be made, all
// are offered.
func (p *permits) offeredSpecs() []tool.Spec {
	offered := slices.DeleteFunc(p.tools.OfferedSpecs(), func(s tool.Spec) bool { return !p.rights.AllowsTool(s.Name) })
	if !slices.ContainsFunc(offered, func(s tool.Spec) bool { return s.Name == tool.SearchName }) {
		return offered
	}
	var out []tool.Spec
	later := map[string]tool.Spec{}
	for _, s := range offered {
		if s.Deferred {
			later[s.Name] = s
		} else {
			out = append(out, s)
		}
	}
	for _, name := range p.found {
		if s, ok := later[name]; ok {
			out = append(out, s)
		}
	}
	return out
}

// noteFound adds tools that were found.
func (p *permits) noteFound(names []string) {
	for _, name := range names {
		if !slices.Contains(p.found, name) {
			p.found = append(p.found, name)
		}
	}
}

// unseenSchema returns what an error about the arguments of a deferred tool adds, which the
// model may have called without having found it; "" for others.
func (p *permits) unseenSchema(s tool.Spec) string {
	if !s.Deferred || slices.Contains(p.found, s.Name) {
		return ""
	}
	return "; its parameters are " + string(s.Parameters)
}

func (p *permits) offeredTools() []llm.Tool {
	specs := p.offeredSpecs()
	out := make([]llm.Tool, 0, len(specs))
	for _, s := range specs {
		out = append(out, llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters, Kept: s.Checked})
	}
	return out
}

// checkRights refuses a tool that is not within the rights of the turn.
func (p *permits) checkRights(name string) error {
	if p.rights.AllowsTool(name) {
		return nil
	}
	return fika.Errorf(fika.Denied, "tool", "%s is not permitted in this turn, because whoever caused it may not use it ([guard] rights): do without it, or ask a person", name)
}
