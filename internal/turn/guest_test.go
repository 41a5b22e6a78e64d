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
	"fika/internal/store"
	"fika/internal/turn"
)

// guests is a program that remembers its sessions, and says what it is to do in its turn.
type guests struct {
	*world
	chat     fika.Conversation
	sessions map[string][]string // prompts, by id
	woken    []fika.AgentName
	does     func(ctx context.Context, host turn.GuestHost) (turn.GuestEnd, error)
}

func newGuests(t *testing.T) *guests {
	g := &guests{world: newWorld(t), sessions: map[string][]string{}}
	var err error
	g.chat, err = g.store.CreateChat(t.Context(), "tale")
	g.ok(err)
	g.say("@arya go")
	return g
}

func (g *guests) say(text string) {
	g.Helper()
	_, err := g.store.Post(g.Context(), store.Post{Conversation: g.chat.ID, From: "ann", Writer: fika.ByHuman, Content: text, Notify: []fika.AgentName{"arya"}})
	g.ok(err)
}

func (g *guests) config() turn.Config {
	cfg := g.world.config()
	cfg.Guest, cfg.ModelID, cfg.AskFor, cfg.Guard = g, "acp:stub", time.Hour, nil
	return cfg
}

func (g *guests) Program() string                    { return "stub" }
func (g *guests) Plan(context.Context, string) error { return nil }
func (g *guests) Redact(text string) string          { return strings.ReplaceAll(text, "hunter2", "…") }
func (g *guests) Shorten(output, _ string) string    { return output }
func (g *guests) Offers(name string) bool            { return name == "send_message" || name == "delegate" }
func (g *guests) Bill(u fika.Usage) fika.Usage       { return fika.AsBilled("acp:stub", u) }
func (g *guests) Wake(name fika.AgentName)           { g.woken = append(g.woken, name) }
func (g *guests) Open(_ context.Context, o turn.GuestOpen) (turn.GuestSession, error) {
	id, known := o.Kept, true
	if _, known = g.sessions[id]; !known {
		id = fmt.Sprintf("s-%d", len(g.sessions)+1)
		g.sessions[id] = nil
	}
	return guestStub{g, id, known}, nil
}

type guestStub struct {
	*guests
	id    string
	known bool
}

func (s guestStub) ID() string      { return s.id }
func (s guestStub) Known() bool     { return s.known }
func (s guestStub) Close() []string { return nil }
func (s guestStub) LastPrompt() string {
	if all := s.sessions[s.id]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

func (s guestStub) Prompt(ctx context.Context, text string, host turn.GuestHost) (turn.GuestEnd, error) {
	s.sessions[s.id] = append(s.sessions[s.id], text)
	return s.does(ctx, host)
}

func (g *guests) prompts() (all []string) {
	for _, list := range g.sessions {
		all = append(all, list...)
	}
	return all
}

// works is a turn with a thought, a call that a person is asked about, and an answer.
func (g *guests) works(ctx context.Context, host turn.GuestHost) (turn.GuestEnd, error) {
	call := turn.GuestCall{ID: "c", Tool: "bash", Args: json.RawMessage(`{"command":"echo hunter2"}`)}
	answered := make(chan bool)
	stop, cancel := context.WithCancel(ctx)
	go func() { // a person, until somebody asks
		defer close(answered)
		for stop.Err() == nil {
			open, err := g.store.OpenApprovals(stop)
			if err == nil && len(open) > 0 {
				_, _ = g.store.AnswerApproval(stop, open[0].N, store.ApprovalAnswer{Allow: true, By: "ann"})
				return
			}
		}
	}()
	defer func() { cancel(); <-answered }()
	for _, e := range []turn.GuestEvent{{Thought: "hm"}, {Text: "I look "}, {Text: "at it"}, {Call: &call}} {
		if err := host.Did(e); err != nil {
			return turn.GuestEnd{}, err
		}
	}
	yes, err := host.May(ctx, call)
	if err != nil {
		return turn.GuestEnd{}, err
	}
	call.Ready = true
	for range 2 {
		if err := host.Did(turn.GuestEvent{Call: &call}); err != nil {
			return turn.GuestEnd{}, err
		}
		call.Ended, call.Output = true, fmt.Sprint(yes, " hunter2")
	}
	end := turn.GuestEnd{Stop: "end_turn", Usage: fika.Usage{Input: 5, Output: 2}, Cost: 3000, Priced: true}
	return end, host.Did(turn.GuestEvent{Text: "done @brienne"})
}

// TestGuest: what a guest does is in the conversation as it comes, without known keys; it is
// told once of what others said, and what it cost is the growth of its session's cost.
func TestGuest(t *testing.T) {
	g := newGuests(t)
	g.does = g.works
	res, err := turn.New(g.config()).Run(t.Context(), g.claim())
	g.ok(err)
	if res.State != fika.Done || res.Outcome.Answer != "done @brienne" || res.Outcome.Usage.Cost != 3000 || res.Outcome.Usage.Input != 5 {
		t.Errorf("%+v", res)
	}
	var said []string
	for _, e := range g.entries(g.chat.ID) {
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s %s: %s %s", e.Type, e.From, e.Content, e.Meta.Origin)))
	}
	want := []string{"message ann: @arya go", "message arya: I look at it", `tool_call arya: {"command":"echo …"} acp`, "tool_result bash: true … acp", "message arya: done @brienne"}
	if !slices.Equal(said, want) {
		t.Errorf("%s", strings.Join(said, "\n"))
	}
	g.say("@arya more")
	g.does = func(_ context.Context, host turn.GuestHost) (turn.GuestEnd, error) {
		return turn.GuestEnd{Stop: "end_turn", Cost: 3500, Priced: true}, host.Did(turn.GuestEvent{Text: "yes"})
	}
	res, err = turn.New(g.config()).Run(t.Context(), g.claim())
	g.ok(err)
	if p := g.prompts(); len(p) != 2 || p[1] != "[ann] @arya more" || res.Outcome.Usage.Cost != 500 {
		t.Errorf("%d, %q", res.Outcome.Usage.Cost, p)
	}
	g.whole(g.chat.ID)
}

// TestGuestStops: each way in which a guest's turn ends has its outcome.
func TestGuestStops(t *testing.T) {
	for stop, want := range map[string]fika.RequestState{"refusal": fika.RequestFailed, "max_tokens": fika.RequestFailed, "odd": fika.RequestFailed, "end_turn": fika.Done, "gone": fika.StateInterrupted} {
		g := newGuests(t)
		g.does = func(_ context.Context, host turn.GuestHost) (turn.GuestEnd, error) {
			if stop == "gone" {
				g.ok(host.Did(turn.GuestEvent{Text: "half of it"}))
				return turn.GuestEnd{}, &turn.GuestGone{Why: "ended with exit status 1"}
			}
			return turn.GuestEnd{Stop: stop}, nil // it says nothing
		}
		c := g.claim()
		res, err := turn.New(g.config()).Run(t.Context(), c)
		g.ok(err)
		if res.State != want || stop == "gone" && !strings.Contains(res.Reason, "fika request retry "+string(c.Request.ID)) {
			t.Errorf("%s: %+v", stop, res)
		}
		if !res.Outcome.Usage.Unpriced {
			t.Errorf("%s: its cost is known: %+v", stop, res.Outcome.Usage)
		}
		g.whole(g.chat.ID)
	}
}

// TestGuestOutlivesCrashes: whatever operation on the store a process dies at, nobody but a
// person prompts the guest again, and it gets the message of a request once.
func TestGuestOutlivesCrashes(t *testing.T) {
	for k := 1; ; k++ {
		survived := true
		for _, after := range []bool{false, true} {
			g := newGuests(t)
			g.does = g.works
			d := &death{left: k, after: after}
			cfg := g.config()
			cfg.Store = turn.StoreOf(d.store(g.store))
			res, err := turn.New(cfg).Run(t.Context(), g.claim())
			if d.died() {
				survived = false
				g.takeOver()
				rec, err := g.store.Recover(t.Context(), g.lease)
				g.ok(err)
				prompted := len(g.prompts())
				for _, c := range rec.Claimed {
					res, err = turn.New(g.config()).Run(t.Context(), c)
					g.ok(err)
					if prompted > 0 && (res.State != fika.StateInterrupted || len(g.prompts()) != prompted) {
						t.Errorf("death at %d (after: %t): %s, %d prompts", k, after, res.State, len(g.prompts()))
					}
					if prompted > 0 && !res.Outcome.Usage.Unpriced {
						t.Errorf("death at %d (after: %t): what the turn cost is known: %+v", k, after, res.Outcome.Usage)
					}
					if res.State == fika.Done {
						continue
					}
					_, err := g.store.Retry(t.Context(), c.Request.ID)
					g.ok(err)
					res, err = turn.New(g.config()).Run(t.Context(), g.claim())
					g.ok(err)
				}
			} else {
				g.ok(err)
			}
			told := 0
			for _, p := range g.prompts() {
				told += strings.Count(p, "@arya go")
			}
			if told != 1 {
				t.Errorf("death at %d (after: %t): told %d times: %q", k, after, told, g.prompts())
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

// TestACancelledGuestCostsNobodyKnowsWhat: what a turn told of its cost before it was cancelled
// is booked, and that there may be more.
func TestACancelledGuestCostsNobodyKnowsWhat(t *testing.T) {
	g := newGuests(t)
	ctx, cancel := context.WithCancel(t.Context())
	g.does = func(ctx context.Context, _ turn.GuestHost) (turn.GuestEnd, error) {
		cancel()
		<-ctx.Done()
		return turn.GuestEnd{Cost: 40, Priced: true}, ctx.Err()
	}
	res, err := turn.New(g.config()).Run(ctx, g.claim())
	g.ok(err)
	if u := res.Outcome.Usage; res.State != fika.Cancelled || u.Cost != 40 || !u.Unpriced {
		t.Errorf("%+v", res)
	}
}
