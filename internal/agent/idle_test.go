package agent

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/system/process"
)

// looks notes when a process looks at the store.
type looks struct {
	Lifecycle
	mu sync.Mutex
	at []time.Duration // since boot
}

func (l *looks) Look(ctx context.Context, lease store.Lease) (store.Looked, error) {
	l.mu.Lock()
	l.at = append(l.at, process.Boottime())
	l.mu.Unlock()
	return l.Lifecycle.Look(ctx, lease)
}

// TestHubLooksForIt: a process that its hub looks for does not look itself; when it hears
// nothing more, it does, renews its lease, and finds what nobody rang for.
func TestHubLooksForIt(t *testing.T) {
	if process.Boottime() == 0 {
		t.Skip("skipped: this system has no clock that goes on while it is suspended")
	}
	const poll = 40 * time.Millisecond
	seen := &looks{}
	var mu sync.Mutex
	type belief struct{ looked, heard time.Duration }
	var told []belief
	signs := 0
	w := newWorld(t, func(o *Options) {
		seen.Lifecycle = o.Store.Lifecycle
		o.Store.Lifecycle, o.Poll = seen, poll
		o.Renewed = func(until time.Duration) {
			mu.Lock()
			told = append(told, belief{until, process.Boottime()})
			mu.Unlock()
		}
		o.Sign = func(context.Context) {
			mu.Lock()
			signs++
			mu.Unlock()
		}
	})
	w.run()
	w.until("readiness", func() bool { return len(seen.when()) > 0 })
	believed := func() []belief {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(told)
	}
	say := func(lease store.LeaseID, at time.Duration) {
		data, err := json.Marshal(message.Idle{Type: message.TypeIdle, Lease: string(lease), LookedAt: int64(at), LeaseUntil: int64(at)})
		w.ok(err)
		w.ok(w.bus.Publish("fika.agent.coder.idle", data))
	}
	say("another", process.Boottime())
	say(w.lease.ID, process.Boottime()-2*poll) // too old
	w.until("much is believed", func() bool {
		say(w.lease.ID, process.Boottime())
		return len(believed()) >= 200
	})
	for _, b := range believed() {
		for _, at := range seen.when() {
			if b.heard < at && at < b.looked+poll*5/4 {
				t.Errorf("it looked itself %s after the hub had", at-b.looked)
			}
		}
	}
	mu.Lock()
	before := signs
	mu.Unlock()
	_, err := w.store.Accept(t.Context(), store.NewRequest{ID: "unheard", Kind: fika.AskRequest, Origin: fika.Queued, Agent: w.agent.ID, Payload: fika.Payload{Prompt: "x"}})
	w.ok(err)
	w.next().end <- fika.Done
	mu.Lock()
	defer mu.Unlock()
	if signs == before {
		t.Error("it did not renew its lease")
	}
}

func (l *looks) when() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.at)
}
