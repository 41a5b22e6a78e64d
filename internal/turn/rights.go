package turn

import (
	"context"
	"fmt"
	"slices"

	"fika"
	"fika/internal/guard"
	"fika/internal/llm"
	"fika/internal/tool"
)

// Bounds say what a turn may do besides what its tools allow.
type Bounds interface {
	// Effective are the rights that a turn has now, within those of whoever caused
	// its request, if it is to be so.
	Effective(ctx context.Context, cause *fika.Rights, tainted bool) *fika.Rights
	// Confine confines the processes of a call to rights. It may change the
	// protected files that are opened for it.
	Confine(r *fika.Rights, opened []string) tool.Confinement
}

// permits are what the turn may do, and which tools its model is told of.
type permits struct {
	*assignment
	exposure  *exposure
	bounds    Bounds
	tools     *tool.Set
	rights    *fika.Rights // nil: what its tools allow
	committed string       // what it passes on, as it was committed last
}

// boundNow asks what the turn may do now: a person may have changed it.
func (p *permits) boundNow(ctx context.Context) {
	if p.bounds != nil {
		p.rights = p.bounds.Effective(ctx, p.claimed.Request.Rights, p.exposure.taint.Tainted())
	}
}

// passedRights are the rights that go with what the turn causes.
func (p *permits) passedRights() *fika.Rights { return guard.PassedRights(p.rights, p.exposure.hosts) }

// newlyPassed are those rights where they are not what was committed last; else nil.
func (p *permits) newlyPassed() *fika.Rights {
	r := p.passedRights()
	if text := fmt.Sprintf("%+v", r); r != nil && text != p.committed {
		p.committed = text
		return r
	}
	return nil
}

// offeredSpecs lists the tools that the model is told of.
func (p *permits) offeredSpecs() []tool.Spec {
	return slices.DeleteFunc(p.tools.OfferedSpecs(), func(s tool.Spec) bool { return !p.rights.AllowsTool(s.Name) })
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
