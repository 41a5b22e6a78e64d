package hub

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/system/process"
)

// TestLooksForIdle: the hub tells an agent that is idle so, and renews its lease while its
// process gives signs of life; it tells nothing to one that has work.
func TestLooksForIdle(t *testing.T) {
	if process.Boottime() == 0 {
		t.Skip("skipped: this system has no clock that goes on while it is suspended")
	}
	w := newWorld(t)
	ctx := t.Context()
	l, err := w.store.Acquire(ctx, w.agent("coder").ID, "1@here", time.Second, true)
	w.ok(err)
	w.ok(w.store.Renew(ctx, l, time.Second, store.Beat{State: fika.AgentIdle}))
	w.procs.alive[1] = "coder"
	told := make(chan message.Idle, 1000)
	sub, err := w.bus.Peer().Subscribe("fika.agent.coder.idle", func(m bus.Msg) {
		var said message.Idle
		w.ok(json.Unmarshal(m.Data, &said))
		select {
		case told <- said:
		default:
		}
	})
	w.ok(err)
	defer sub.Close()
	var looks atomic.Int64
	w.runWith(func(o *Options) {
		o.LookForIdle = true
		o.Home = func() error { looks.Add(1); return nil }
	}, Spec{Name: "coder"})
	held := func() time.Duration {
		a := w.agent("coder")
		return a.LeaseUntil.Sub(a.SeenAt)
	}
	first := <-told
	if first.Lease != string(l.ID) || first.LookedAt <= 0 || first.LeaseUntil != 0 || held() > time.Second {
		t.Fatalf("before a sign of life: %+v, and its lease lasts %s", first, held())
	}
	for said := first; said.LeaseUntil == 0; said = <-told {
		w.beat("coder", 1)
	}
	if d := held(); d != store.LeaseTime {
		t.Errorf("its lease lasts %s", d)
	}
	_, err = w.store.Accept(ctx, store.NewRequest{Kind: fika.AskRequest, Origin: fika.Queued, Agent: l.Agent, Payload: fika.Payload{Prompt: "x"}})
	w.ok(err)
	after := func(n int64) {
		for from := looks.Load(); looks.Load() < from+n; {
			w.until("more looks", func() bool { return looks.Load() >= from+n })
		}
	}
	after(2) // one may have been under way
	for len(told) > 0 {
		<-told
	}
	after(5)
	if len(told) > 0 {
		t.Errorf("told although there is work: %+v", <-told)
	}
}
