package hub

import (
	"context"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// TestClean: the hub removes what has expired, soon after it has started.
func TestClean(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	room, err := w.store.CreateChat(ctx, "room")
	w.ok(err)
	for _, ttl := range []time.Duration{time.Millisecond, 0} {
		_, err = w.store.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "x", TTL: ttl})
		w.ok(err)
	}
	w.run()
	w.until("one message is gone", func() bool {
		_, err := w.store.EntryBySeq(ctx, room.ID, 1)
		return fika.IsKind(err, fika.NotFound)
	})
	_, err = w.store.EntryBySeq(ctx, room.ID, 2)
	w.ok(err)
}

// TestLift: a chat that somebody held who is not heard of any more goes on.
func TestLift(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.agent("coder")
	room, err := w.store.CreateChat(ctx, "room")
	w.ok(err)
	_, err = w.store.LeasePause(ctx, room.ID, "ann", 50*time.Millisecond)
	w.ok(err)
	_, err = w.store.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "@coder", Notify: []fika.AgentName{"coder"}})
	w.ok(err)
	w.run(persistent)
	w.until("the chat continues", func() bool {
		c, err := w.store.ConversationByID(ctx, room.ID)
		w.ok(err)
		return !c.Paused && c.LastSeq == 2 // the notice
	})
}

// TestRested: an agent is started again after its pause, and a clock that was
// set back meanwhile does not prolong that.
func TestRested(t *testing.T) {
	left := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var c supervised
	if !c.mayStart(left) {
		t.Error("one that never ran is not started")
	}
	c.pauseFor(left, 10*time.Second)
	for after, want := range map[time.Duration]bool{0: false, 9 * time.Second: false, 10 * time.Second: true, time.Hour: true, -time.Hour: true} {
		if got := c.mayStart(left.Add(after)); got != want {
			t.Errorf("%s later: %v, want %v", after, got, want)
		}
	}
}
