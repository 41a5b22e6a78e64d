package hub

import (
	"sync/atomic"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// TestRestsWithoutWork lets a hub end that has had nothing to do for half an hour,
// and not before: an agent with auto_start, work that waits and somebody who
// follows each keep it.
func TestRestsWithoutWork(t *testing.T) {
	var followed atomic.Bool
	lazy := Spec{Name: "coder"}
	rests := func(o *Options) {
		o.Rest, o.Followed = 30*time.Minute, followed.Load
	}
	looked := func(w *world) { // three ticks have seen the clock as it is
		for range 3 {
			seen := make(chan struct{})
			w.hub.postTask(func() { w.hub.lookAtAll(t.Context()); close(seen) })
			<-seen
		}
	}
	stays := func(w *world, why string) {
		t.Helper()
		w.later(time.Hour)
		looked(w)
		select {
		case <-w.ended:
			t.Fatalf("it ended although %s", why)
		default:
		}
	}
	for why, keep := range map[string]func(*world){
		"an agent starts by itself": func(w *world) { w.runWith(rests, persistent) },
		"work waits": func(w *world) {
			a := w.agent("coder")
			w.ok(w.store.SetDesired(t.Context(), a.ID, fika.DesiredStopped))
			_, err := w.store.Accept(t.Context(), store.NewRequest{Agent: a.ID, Kind: fika.TaskRequest, Origin: fika.Queued, Payload: fika.Payload{Prompt: "later"}})
			w.ok(err)
			w.runWith(rests, lazy)
		},
	} {
		w := newWorld(t)
		keep(w)
		stays(w, why)
		w.end()
	}
	w := newWorld(t)
	followed.Store(true)
	w.runWith(rests, lazy)
	stays(w, "somebody follows")
	followed.Store(false)
	looked(w)
	w.later(29 * time.Minute)
	looked(w)
	select {
	case <-w.ended:
		t.Fatal("it ended too early")
	default:
	}
	w.later(2 * time.Minute)
	w.ok(w.over())
}
