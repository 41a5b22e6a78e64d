package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/turn"
)

// TestLateListenerJoinsByOffset: what the reply on the subject live has and the chunks
// that follow are the whole text of the round.
func TestLateListenerJoinsByOffset(t *testing.T) {
	for _, before := range []int{0, 10, 300 << 10} {
		synctest.Test(t, func(t *testing.T) {
			r, s := recorded()
			s.c.Request.Epoch = 7
			var all strings.Builder
			say := func(text string) {
				all.WriteString(text)
				s.Observe(turn.Event{Kind: turn.Text, Round: 2, Text: text})
			}
			for all.Len() < before {
				say("né ")
			}
			s.flushDeltas()
			first := len(r.seen)
			got := askLive(t, s.p)
			for range 100 {
				say("später ")
			}
			s.flushDeltas()
			if before == 0 {
				if got.Request != "" {
					t.Fatalf("before anything is streamed: %+v", got)
				}
				return
			}
			if got.Request != "r-1" || got.Epoch != 7 || got.Round != 2 || len(got.Text) > message.MaxLive {
				t.Fatalf("%s epoch %d round %d, %d bytes", got.Request, got.Epoch, got.Round, len(got.Text))
			}
			text := got.Text
			for _, st := range r.seen[first:] {
				if at := got.Offset + len(text); st.Data.Offset != at || st.Data.Round != 2 || st.Data.Epoch != 7 {
					t.Fatalf("a chunk at %d follows %d: %+v", st.Data.Offset, at, st.Data)
				}
				text += st.Data.Chunk
			}
			if text != all.String()[got.Offset:] {
				t.Error("the text is not whole")
			}
			s.Observe(turn.Event{Kind: turn.ToolCalled, Tool: "read", N: 3, Round: 2})
			if got := askLive(t, s.p); got.CallID != store.CallID("r-1", 3) {
				t.Errorf("while a tool runs: %q", got.CallID)
			}
			s.Observe(turn.Event{Kind: turn.Restarted, Round: 2})
			if got := askLive(t, s.p); got.Text != "" || got.Offset != 0 {
				t.Errorf("after a restart: %d bytes at %d", len(got.Text), got.Offset)
			}
			s.Observe(turn.Event{Kind: turn.Ended, Outcome: &turn.Result{State: fika.Done}})
			if got := askLive(t, s.p); got.Request != "" {
				t.Errorf("after the end: %+v", got)
			}
		})
	}
}

// askLive asks what a process is streaming.
func askLive(t *testing.T, p *Process) (got message.Live) {
	t.Helper()
	p.live.answer(bus.Msg{Respond: func(data []byte) error { return json.Unmarshal(data, &got) }})
	return got
}
