package service

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/api"
	"fika/internal/store"
)

// TestLiveTextJoins: what comes twice, late or of an attempt that is over is shown once or
// not at all, whatever the order in which a late watcher learns of it.
func TestLiveTextJoins(t *testing.T) {
	l := liveText{scope: api.Scope{Deltas: true}}
	for _, tt := range []struct {
		name string
		api.Delta
		want string // "-": nothing
		at   int
	}{
		{"what was streamed before", api.Delta{Kind: api.TextDelta, Attempt: 2, Round: 1, Text: "one two"}, "one two", 0},
		{"the same again", api.Delta{Kind: api.TextDelta, Attempt: 2, Round: 1, Offset: 3, Text: " two"}, "-", 0},
		{"half of it known", api.Delta{Kind: api.TextDelta, Attempt: 2, Round: 1, Offset: 4, Text: "two three"}, " three", 7},
		{"reasoning counts apart", api.Delta{Kind: api.ReasoningDelta, Attempt: 2, Round: 1, Text: "hm"}, "hm", 0},
		{"after a gap", api.Delta{Kind: api.TextDelta, Attempt: 2, Round: 1, Offset: 20, Text: "five"}, "five", 20},
		{"begun again", api.Delta{Kind: api.TextDelta, Attempt: 2, Round: 1, Restart: true}, "", 0},
		{"its first text", api.Delta{Kind: api.TextDelta, Attempt: 2, Round: 1, Text: "uno"}, "uno", 0},
		{"the next round", api.Delta{Kind: api.TextDelta, Attempt: 2, Round: 2, Text: "dos"}, "dos", 0},
		{"late text of the round before", api.Delta{Kind: api.TextDelta, Attempt: 2, Round: 1, Offset: 3, Text: "!"}, "-", 0},
		{"a note belongs to no round", api.Delta{Kind: api.NoteDelta, Attempt: 2, Text: "waits"}, "waits", 0},
		{"an earlier attempt", api.Delta{Kind: api.TextDelta, Attempt: 1, Round: 9, Text: "old"}, "-", 0},
		{"a note of an earlier attempt", api.Delta{Kind: api.NoteDelta, Attempt: 1, Text: "old"}, "-", 0},
		{"a later attempt", api.Delta{Kind: api.TextDelta, Attempt: 3, Round: 1, Text: "new"}, "new", 0},
	} {
		e := api.Event{Kind: api.DeltaEvent, Request: "q", Delta: &tt.Delta}
		switch shown := l.joins(&e); {
		case shown != (tt.want != "-"):
			t.Errorf("%s: shown %v", tt.name, shown)
		case shown && (e.Delta.Text != tt.want || e.Delta.Offset != tt.at):
			t.Errorf("%s: %q at %d, want %q at %d", tt.name, e.Delta.Text, e.Delta.Offset, tt.want, tt.at)
		}
	}
	entry := func(round int) {
		l.committed(store.Event{Kind: store.EntryEvent, Request: "q", Data: fmt.Appendf(nil, `{"round":%d}`, round)})
	}
	shown := func(round, offset int) bool {
		return l.joins(&api.Event{Kind: api.DeltaEvent, Request: "q", Delta: &api.Delta{Kind: api.TextDelta, Attempt: 3, Round: round, Offset: offset, Text: "more"}})
	}
	if entry(1); shown(1, 3) {
		t.Error("text is shown after the entry of its round")
	}
	if entry(2); shown(2, 0) {
		t.Error("the first text of a round is shown after its entry")
	}
	if !shown(3, 0) {
		t.Error("the text of the round after an entry is not shown")
	}
	l.committed(store.Event{Kind: store.RequestEvent, Request: "q", State: string(fika.Done)})
	if l.joins(&api.Event{Kind: api.DeltaEvent, Request: "q", Delta: &api.Delta{Kind: api.TextDelta, Attempt: 3, Round: 4, Text: "late"}}) {
		t.Error("text is shown after the outcome")
	}
}

// TestLiveTextOfASlowWatcherIsBounded: what a watcher does not take is lost, and what
// follows says by its offset how much.
func TestLiveTextOfASlowWatcherIsBounded(t *testing.T) {
	for _, size := range []int{1, 64 << 10} {
		l := liveText{scope: api.Scope{Deltas: true}, sees: &eventSight{all: true}, some: make(chan struct{}, 1)}
		piece := func(at int) api.Event {
			return api.Event{Kind: api.DeltaEvent, Request: "q", Delta: &api.Delta{Kind: api.TextDelta, Attempt: 1, Round: 1, Offset: at * size, Text: strings.Repeat("x", size)}}
		}
		const many = 3 * maxDeltas
		for i := range many {
			l.add(piece(i))
		}
		if len(l.pending) > maxDeltas || l.waiting > maxWaiting || l.waiting != len(l.pending)*size {
			t.Errorf("%d pieces of %d bytes wait", len(l.pending), size)
		}
		got, last := 0, 0
		take := func(e api.Event, _ error) bool { got, last = got+1, e.Delta.Offset; return true }
		if _, err := l.give(context.Background(), take); err != nil || got == 0 || last != (got-1)*size {
			t.Errorf("%d pieces up to %d: %v", got, last, err)
		}
		l.add(piece(many))
		if _, err := l.give(context.Background(), take); err != nil || last != many*size {
			t.Errorf("what follows is at %d, not %d: %v", last, many*size, err)
		}
	}
}
