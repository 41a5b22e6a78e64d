package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/tool/peer"
	"fika/internal/turn"
)

// sends gives the guest fika's own tool that sends messages, and one that it is not offered.
func (g *guests) sends() {
	g.tools = append(g.tools, &peer.Send{
		Find: func(ctx context.Context, name string) (fika.Agent, error) {
			return g.store.Agent(ctx, fika.AgentName(name))
		},
		Store: g.store, Hooks: hook.None{}, Wake: func(names ...fika.AgentName) { g.woken = append(g.woken, names...) },
	})
	g.add("bash", fika.Unsafe, nil)
	g.agent("brienne")
}

func (g *guests) call(ctx context.Context, host turn.GuestHost, name, args string) (tool.Result, error) {
	return host.Call(ctx, name, json.RawMessage(args))
}

// mail returns the messages that brienne has got.
func (g *guests) mail() (out []fika.Entry) {
	g.Helper()
	a := g.agent("brienne")
	if a.ActiveAsk == "" {
		return nil
	}
	for _, e := range g.entries(a.ActiveAsk) {
		if e.Type == fika.Message {
			out = append(out, e)
		}
	}
	return out
}

// TestGuestCallsTools: a guest calls fika's tools as the agent whose turn it is: sender,
// chain, depth, taint and rights are those of its request, whatever its arguments say.
func TestGuestCallsTools(t *testing.T) {
	g := newGuests(t)
	g.sends()
	g.does = func(ctx context.Context, host turn.GuestHost) (turn.GuestEnd, error) {
		for _, c := range []struct{ name, args, want string }{
			{"send_message", `{"to":"brienne","content":"hello","chain":"x"}`, "chain is not an argument"},
			{"send_message", `{"to":"brienne","content":"hello"}`, "Sent to brienne."},
			{"bash", `{"x":"rm"}`, "no tool is named"},
			{"send_message", `{"to":"nobody","content":"hello"}`, "nobody"},
		} {
			if r, err := g.call(ctx, host, c.name, c.args); err != nil || !strings.Contains(r.Text, c.want) {
				t.Errorf("%s %s: %q, %v", c.name, c.args, r.Text, err)
			}
		}
		return turn.GuestEnd{Stop: "end_turn"}, host.Did(turn.GuestEvent{Text: "done"})
	}
	c := g.claim()
	c.Request.Taint = "a page"
	res, err := turn.New(g.config()).Run(t.Context(), c)
	g.ok(err)
	if res.State != fika.Done || len(g.calls()) > 0 {
		t.Errorf("%+v, ran %q", res, g.calls())
	}
	g.whole(g.chat.ID)
	mail := g.mail()
	if len(mail) != 1 || mail[0].From != "arya" || mail[0].Meta.WriterName != "arya" || mail[0].Content != "hello" {
		t.Fatalf("%+v", mail)
	}
	l, err := g.store.Acquire(t.Context(), g.agent("brienne").ID, "test", time.Hour, true)
	g.ok(err)
	got, err := g.store.Claim(t.Context(), l, store.Limits{}, nil)
	g.ok(err)
	if got == nil || got.Request.Chain != c.Request.Chain || got.Request.Depth != c.Request.Depth+1 || mail[0].Meta.Taint.From != "a page" {
		t.Errorf("%+v", got)
	}
	if !slices.Contains(g.woken, "brienne") {
		t.Error("nobody was woken")
	}
}

// TestGuestCallsLate: nothing is called once the turn of the program has ended.
func TestGuestCallsLate(t *testing.T) {
	g := newGuests(t)
	g.sends()
	var kept turn.GuestHost
	g.does = func(_ context.Context, host turn.GuestHost) (turn.GuestEnd, error) {
		kept = host
		return turn.GuestEnd{Stop: "end_turn"}, host.Did(turn.GuestEvent{Text: "done"})
	}
	_, err := turn.New(g.config()).Run(t.Context(), g.claim())
	g.ok(err)
	r, err := g.call(t.Context(), kept, "send_message", `{"to":"brienne","content":"hello"}`)
	if err != nil || !r.IsError || len(g.mail()) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestGuestDelegates: a guest waits in its turn for the task that it gives; a call that its
// client has given up goes on, and the same call again gets its answer.
func TestGuestDelegates(t *testing.T) {
	g := newGuests(t)
	g.tools = append(g.tools, giver{g.world})
	l, err := g.store.Acquire(t.Context(), g.agent("brienne").ID, "test", time.Hour, true)
	g.ok(err)
	var child store.Claimed
	g.does = func(ctx context.Context, host turn.GuestHost) (turn.GuestEnd, error) {
		const args = `{"agent":"brienne","prompt":"look"}`
		gone, hangUp := context.WithCancel(ctx)
		go hangUp()
		if _, err := g.call(gone, host, "delegate", args); err == nil {
			t.Error("the client did not hang up")
		}
		for child.Request.ID == "" {
			c, err := g.store.Claim(ctx, l, store.Limits{}, nil)
			g.ok(err)
			if c != nil {
				child = *c
			}
		}
		_, err := g.store.Finish(ctx, child.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "seen"}, Outcome: fika.Outcome{Answer: "seen"}})
		g.ok(err)
		r, err := g.call(ctx, host, "delegate", `{"prompt":"look", "agent":"brienne"}`)
		if err != nil || r.Text != "brienne says seen" {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err := g.call(ctx, host, "delegate", `{"agent":"arya","prompt":"look"}`); err != nil || !strings.Contains(r.Text, "that is you") {
			t.Errorf("%+v, %v", r, err)
		}
		return turn.GuestEnd{Stop: "end_turn"}, host.Did(turn.GuestEvent{Text: "done"})
	}
	c := g.claim()
	res, err := turn.New(g.config()).Run(t.Context(), c)
	g.ok(err)
	if res.State != fika.Done || child.Request.Parent != c.Request.ID || child.Request.Chain != c.Request.Chain || child.Request.Depth != c.Request.Depth+1 || child.Request.Payload.From != "arya" {
		t.Errorf("%+v, %+v", res, child.Request)
	}
	list, err := g.store.ListRequests(t.Context(), store.RequestFilter{Agent: g.agent("brienne").ID})
	g.ok(err)
	if len(list) != 1 || !slices.Contains(g.woken, "brienne") {
		t.Errorf("%d tasks, woken %q", len(list), g.woken)
	}
	g.whole(g.chat.ID)
}

// TestGuestSendsOnce: whatever operation on the store a process dies at, what its guest sends
// is there once after a person has let it go on, and it does the same again.
func TestGuestSendsOnce(t *testing.T) {
	for k := 1; ; k++ {
		survived := true
		for _, after := range []bool{false, true} {
			g := newGuests(t)
			g.sends()
			d := &death{left: k, after: after}
			g.does = func(ctx context.Context, host turn.GuestHost) (turn.GuestEnd, error) {
				for n := range 2 {
					if _, err := g.call(ctx, host, "send_message", fmt.Sprintf(`{"to":"brienne","content":"hello %d"}`, n)); err != nil {
						return turn.GuestEnd{}, err
					}
				}
				return turn.GuestEnd{Stop: "end_turn"}, host.Did(turn.GuestEvent{Text: "done"})
			}
			cfg := g.config()
			cfg.Store = turn.StoreOf(d.store(g.store))
			c := g.claim()
			_, err := turn.New(cfg).Run(t.Context(), c)
			if d.died() {
				survived = false
				g.takeOver()
				rec, err := g.store.Recover(t.Context(), g.lease)
				g.ok(err)
				for _, c := range rec.Claimed {
					res, err := turn.New(g.config()).Run(t.Context(), c)
					g.ok(err)
					if res.State == fika.StateInterrupted {
						_, err := g.store.Retry(t.Context(), c.Request.ID)
						g.ok(err)
						_, err = turn.New(g.config()).Run(t.Context(), g.claim())
						g.ok(err)
					}
				}
			} else {
				g.ok(err)
			}
			var got []string
			for _, e := range g.mail() {
				got = append(got, e.Content)
			}
			if !slices.Equal(got, []string{"hello 0", "hello 1"}) {
				t.Errorf("death at %d (after: %t): %q", k, after, got)
			}
			g.whole(g.chat.ID)
			if t.Failed() {
				return
			}
		}
		if survived {
			t.Logf("%d operations", k-1)
			return
		}
	}
}
