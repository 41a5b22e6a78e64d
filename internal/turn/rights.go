package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	// Confine confines the processes of a call to rights.
	Confine(*fika.Rights) tool.Confinement
}

// boundNow asks what the turn may do now: a person may have changed it.
func (w *attempt) boundNow(ctx context.Context) {
	if w.cfg.Bounds != nil {
		w.rights = w.cfg.Bounds.Effective(ctx, w.claimed.Request.Rights, w.taint.Tainted())
	}
}

// passed are the rights that go with what the turn causes.
func (w *attempt) passed() *fika.Rights { return guard.Passed(w.rights, w.named) }

// passesNow are those rights where they are not what was committed last; else nil.
func (w *attempt) passesNow() *fika.Rights {
	r := w.passed()
	if text := fmt.Sprintf("%+v", r); r != nil && text != w.committed {
		w.committed = text
		return r
	}
	return nil
}

// offer lists the tools that the model is told of.
func (w *attempt) offer() []tool.Spec {
	return slices.DeleteFunc(w.cfg.Tools.Offer(), func(s tool.Spec) bool { return !w.rights.Allows(s.Name) })
}

func (w *attempt) offered() []llm.Tool {
	var out []llm.Tool
	for _, s := range w.offer() {
		out = append(out, llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
	}
	return out
}

// beyond refuses a tool that is not within the rights of the turn.
func (w *attempt) beyond(name string) error {
	if w.rights.Allows(name) {
		return nil
	}
	return fika.Errorf(fika.Denied, "tool", "%s is not permitted in this turn, because whoever caused it may not use it ([guard] rights): do without it, or ask a person", name)
}

// noteTaint adds text from outside to what the turn has read, and says so the
// first time.
func (w *attempt) noteTaint(t fika.Taint) {
	if !t.Tainted() {
		return
	}
	first := !w.taint.Tainted()
	w.taint = both(w.taint, t)
	if first {
		w.tell(Event{Kind: Warning, Text: "this turn has read text from outside: " + w.taint.From})
	}
}

// maxSources bounds what is said of where text comes from.
const maxSources = 200

// both joins two taints. What the turn has brought in itself outlasts what it
// was shown.
func both(a, b fika.Taint) fika.Taint {
	if !a.Tainted() || !b.Tainted() {
		if a.Tainted() {
			return a
		}
		return b
	}
	for _, from := range strings.Split(b.From, ", ") {
		if !slices.Contains(strings.Split(a.From, ", "), from) && len(a.From)+len(from) < maxSources {
			a.From += ", " + from
		}
	}
	if b.Seq == 0 || a.Seq != 0 && b.Seq > a.Seq {
		a.Seq = b.Seq
	}
	return a
}

// taintOfOwn finds out, after an earlier attempt, what the turn has read.
func (w *attempt) taintOfOwn() {
	for _, e := range w.own {
		w.noteTaint(e.Meta.Taint)
	}
	if !w.taint.Tainted() {
		w.noteTaint(fika.Taint{From: w.claimed.Request.Taint})
	}
}

// lookAround notes what the window says of text from outside: an entry counts as
// long as that which brought the text in is in the window as well. What people
// wrote names hosts.
func (w *attempt) lookAround(history []fika.Entry, cut *fika.Entry) {
	if cut != nil && cut.Meta.Taint.Tainted() { // its summary is in the prompt
		w.noteTaint(fika.Taint{From: cut.Meta.Taint.From, Seq: cut.Seq})
	}
	for i, e := range history {
		t := e.Meta.Taint
		if t.Seq == 0 {
			t.Seq = e.Seq
		}
		if t.Seq >= history[0].Seq {
			w.noteTaint(t)
		}
		w.nameHosts(history[i])
	}
	for _, e := range w.own {
		w.nameHosts(e)
	}
}

// nameHosts remembers the hosts in what a person wrote.
func (w *attempt) nameHosts(e fika.Entry) {
	if e.Type != fika.Message || e.Meta.Writer != fika.ByHuman || e.Meta.Taint.Tainted() {
		return
	}
	for _, h := range guard.HostsIn(e.Content) {
		if !slices.Contains(w.named, h) {
			w.named = append(w.named, h)
		}
	}
}
