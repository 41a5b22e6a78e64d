package web

import (
	"cmp"
	"maps"
	"slices"

	"fika/internal/api"
)

// maxUnsent bounds, in bytes, the live text of one request that is sent at once; of more,
// the end is sent.
const maxUnsent = 8 << 10

// liveText joins live text into pieces for the browser. The zero value is ready to use.
type liveText struct{ runs map[textKey]*textRun }

type textKey struct {
	request string
	kind    api.DeltaKind
	call    string
}

// textRun is the live text of one kind in one round of a request.
type textRun struct {
	agent   string
	attempt int64
	round   int
	length  int    // bytes so far, sent or not
	unsent  string // its end
	again   bool   // what the browser has of it is void
	changed bool
}

// textUpdate is what the browser is sent.
type textUpdate struct {
	Request string `json:"request"`
	Agent   string `json:"agent"`
	Kind    string `json:"kind"`
	Call    string `json:"call"`
	Again   bool   `json:"again"` // it replaces what is shown
	Text    string `json:"text"`
}

// add takes a piece of live text. One that was seen before changes nothing; a gap shows
// as one.
func (t *liveText) add(e api.Event) {
	d := e.Delta
	if d == nil || d.Kind == api.TypingDelta {
		return
	}
	if t.runs == nil {
		t.runs = map[textKey]*textRun{}
	}
	k := textKey{e.Request, d.Kind, d.CallID}
	r := t.runs[k]
	if r == nil {
		r = &textRun{again: true, attempt: d.Attempt, round: d.Round}
		t.runs[k] = r
	}
	r.agent = e.Agent
	switch {
	case d.Attempt < r.attempt || d.Attempt == r.attempt && d.Round < r.round:
		return
	case d.Attempt > r.attempt || d.Round > r.round || d.Restart:
		*r = textRun{agent: e.Agent, attempt: d.Attempt, round: d.Round, again: true, changed: true}
	}
	text := d.Text
	switch have := r.length - d.Offset; {
	case have >= len(text) && have > 0:
		return
	case have > 0:
		text = text[have:]
	case have < 0:
		text = "…" + text
	}
	r.length, r.changed = max(r.length, d.Offset+len(d.Text)), true
	if r.unsent += text; len(r.unsent) > maxUnsent {
		r.unsent, r.again = "…"+safeTail(r.unsent, maxUnsent/2), true
	}
}

// safeTail returns about the last n bytes of a text, without a part of a character.
func safeTail(s string, n int) string {
	s = s[len(s)-n:]
	for i := range len(s) {
		if s[i]&0xC0 != 0x80 {
			return s[i:]
		}
	}
	return s
}

// flush sends what has come.
func (t *liveText) flush(out output) error {
	keys := slices.SortedFunc(maps.Keys(t.runs), func(a, b textKey) int {
		return cmp.Or(cmp.Compare(a.request, b.request), cmp.Compare(a.kind, b.kind), cmp.Compare(a.call, b.call))
	})
	for _, k := range keys {
		r := t.runs[k]
		if !r.changed {
			continue
		}
		if err := out.send("text", textUpdate{k.request, r.agent, string(k.kind), k.call, r.again, r.unsent}); err != nil {
			return err
		}
		r.unsent, r.again, r.changed = "", false, false
	}
	return nil
}

// end forgets the live text of a request whose entry has come.
func (t *liveText) end(request string) {
	maps.DeleteFunc(t.runs, func(k textKey, _ *textRun) bool { return k.request == request })
}
