package turn

import (
	"slices"
	"strings"

	"fika"
	"fika/internal/rights/guard"
)

// exposure is what a turn has seen that bears on its rights: text from outside, and the
// hosts that people have named.
type exposure struct {
	*assignment
	*progress
	given fika.Taint // from [Config.Taint]
	taint fika.Taint
	hosts []string
}

// noteTaint adds text from outside to what the turn has read, and warns the first time.
func (x *exposure) noteTaint(t fika.Taint) {
	if !t.Tainted() {
		return
	}
	first := !x.taint.Tainted()
	x.taint = joinTaints(x.taint, t)
	if first {
		x.observeEvent(Event{Kind: Warning, Text: "this turn has read text from outside: " + x.taint.From})
	}
}

// taintOfOwn restores, after an earlier attempt, what the turn has read from outside.
func (x *exposure) taintOfOwn() {
	x.noteTaint(x.given)
	for _, e := range x.own {
		x.noteTaint(e.Meta.Taint)
	}
	if !x.taint.Tainted() {
		x.noteTaint(fika.Taint{From: x.claimed.Request.Taint})
	}
}

// lookAround notes the text from outside that the window contains, and the hosts that
// people named in it. A tainted entry counts only while the entry that brought the text
// in is also in the window.
func (x *exposure) lookAround(history []fika.Entry, cut *fika.Entry) {
	if cut != nil && cut.Meta.Taint.Tainted() { // its summary is in the prompt
		x.noteTaint(fika.Taint{From: cut.Meta.Taint.From, Seq: cut.Seq})
	}
	for i, e := range history {
		t := e.Meta.Taint
		if t.Seq == 0 {
			t.Seq = e.Seq
		}
		if t.Seq >= history[0].Seq {
			x.noteTaint(t)
		}
		x.nameHosts(history[i])
	}
	for _, e := range x.own {
		x.nameHosts(e)
	}
}

// nameHosts remembers the hosts in what a person wrote.
func (x *exposure) nameHosts(e fika.Entry) {
	if e.Type != fika.Message || e.Meta.Writer != fika.ByHuman || e.Meta.Taint.Tainted() {
		return
	}
	for _, h := range guard.HostsIn(e.Content) {
		if !slices.Contains(x.hosts, h) {
			x.hosts = append(x.hosts, h)
		}
	}
}

// maxSources bounds the list of where text from outside came from, in bytes.
const maxSources = 200

// joinTaints joins two taints. A taint that the turn itself brought in outlasts one from
// what it was shown.
func joinTaints(a, b fika.Taint) fika.Taint {
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
