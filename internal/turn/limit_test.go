package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/chat"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// table is a chat whose agents answer with what a function returns.
type table struct {
	*world
	room   fika.Conversation
	limits store.Limits
	names  []fika.AgentName
	leases map[fika.AgentName]store.Lease
	turns  int
}

func newTable(t *testing.T, l store.Limits, names ...fika.AgentName) *table {
	tb := &table{world: newWorld(t), limits: l, names: names, leases: map[fika.AgentName]store.Lease{}}
	tb.restart()
	var err error
	tb.room, err = tb.store.CreateChat(t.Context(), "room")
	tb.ok(err)
	return tb
}

// restart gives every agent a new owner, as after a kill.
func (tb *table) restart() {
	tb.Helper()
	for _, n := range tb.names {
		l, err := tb.store.Acquire(tb.Context(), tb.agent(n).ID, "test", time.Hour, true)
		tb.ok(err)
		tb.leases[n] = l
	}
}

func (tb *table) post(text string, notify ...fika.AgentName) {
	tb.Helper()
	_, err := tb.store.Post(tb.Context(), store.Post{Conversation: tb.room.ID, From: "ann", Writer: fika.ByHuman, WriterName: "ann", Content: text, Notify: notify})
	tb.ok(err)
}

// play lets agents answer until nobody has work or enough have, and gives how
// many turns that took. Whom an answer mentions is told.
func (tb *table) play(most int, say func(name fika.AgentName, n int) string) (turns int) {
	tb.Helper()
	chats := chat.New(tb.store, nil)
	for idle := false; !idle; {
		idle = true
		for _, name := range tb.names {
			if turns == most {
				return turns
			}
			c, err := tb.store.Claim(tb.Context(), tb.leases[name], tb.limits, nil)
			tb.ok(err)
			if c == nil {
				continue
			}
			idle = false
			turns++
			tb.turns++
			tb.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) { return text(say(name, tb.turns)), nil }
			cfg := tb.config()
			cfg.Call.Agent, cfg.Call.Context, cfg.Limits = name, string(name), tb.limits
			cfg.Mentioned = func(ctx context.Context, conv fika.Conversation, said string) ([]fika.AgentName, error) {
				return chats.Mentioned(ctx, conv, name, said)
			}
			_, err = turn.New(cfg).Run(tb.Context(), *c)
			tb.ok(err)
		}
	}
	return turns
}

func (tb *table) notices() (out []string) {
	tb.Helper()
	for _, e := range tb.entries(tb.room.ID) {
		if e.Type == fika.Notice {
			out = append(out, e.Content)
		}
	}
	return out
}

func polite(name fika.AgentName, _ int) string {
	if name == "arya" {
		return "Thank you so much, @gendry!"
	}
	return "You are very welcome, @arya. Thank you!"
}

// TestEcho: two polite agents are stopped after six messages that say nothing new; a
// restart in between changes nothing, and continuing starts the count again.
func TestEcho(t *testing.T) {
	tb := newTable(t, store.Limits{MaxEcho: 6, MaxDepth: 100}, "arya", "gendry", "hotpie")
	tb.post("@arya say thanks", "arya")
	n := tb.play(4, polite)
	tb.restart()
	if n += tb.play(-1, polite); n != 6 {
		t.Errorf("they stop after %d turns", n)
	}
	if list := tb.notices(); len(list) != 1 || !strings.Contains(list[0], "6 messages of @gendry and @arya without anything new") {
		t.Errorf("notices: %q", list)
	}
	for again := 2; again <= 3; again++ {
		ring, err := tb.store.ContinueChain(tb.Context(), tb.room.ID)
		tb.ok(err)
		if n := tb.play(-1, polite); n != 6 || len(ring) != 1 {
			t.Errorf("continued with %v, they stop after %d turns", ring, n)
		}
		if list := tb.notices(); len(list) != again {
			t.Errorf("notices: %q", list)
		}
	}
}

// TestNoEcho: an exchange goes on if something new is said or more than two take part.
func TestNoEcho(t *testing.T) {
	ring := map[fika.AgentName]string{"arya": "gendry", "gendry": "hotpie", "hotpie": "arya"}
	for name, say := range map[string]func(fika.AgentName, int) string{
		"counting":  func(name fika.AgentName, n int) string { return fmt.Sprintf("@%s step %d", other(name), n) },
		"in a ring": func(name fika.AgentName, n int) string { return "@" + ring[name] + " thank you very much" },
		"new in between": func(name fika.AgentName, n int) string {
			if n%5 == 0 {
				return fmt.Sprintf("@%s I have found number %d, which changes all", other(name), n)
			}
			return "thank you @" + other(name)
		},
		"a third is called": func(name fika.AgentName, n int) string {
			if n == 5 {
				return "thank you @" + other(name) + " and you, @hotpie"
			}
			if name == "hotpie" {
				return "hm"
			}
			return "thank you @" + other(name)
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := store.Limits{MaxEcho: 6, MaxTurns: 10}
			tb := newTable(t, limits, "arya", "gendry", "hotpie")
			tb.post("@arya begin", "arya")
			if n := tb.play(-1, say); n != 10 {
				t.Errorf("%d turns; notices: %q", n, tb.notices())
			}
		})
	}
	t.Run("switched off", func(t *testing.T) {
		tb := newTable(t, store.Limits{MaxEcho: 6, MaxTurns: 10}, "arya", "gendry")
		none := int64(0)
		tb.ok(tb.store.SetLimits(t.Context(), tb.room.ID, fika.ChainLimits{Echo: &none}))
		tb.post("@arya begin", "arya")
		if n := tb.play(-1, polite); n != 10 {
			t.Errorf("%d turns; notices: %q", n, tb.notices())
		}
	})
}

func other(name fika.AgentName) string {
	if name == "arya" {
		return "gendry"
	}
	return "arya"
}

// TestPersonInEcho: a person's word in between is something new.
func TestPersonInEcho(t *testing.T) {
	tb := newTable(t, store.Limits{MaxEcho: 6, MaxTurns: 20}, "arya", "gendry")
	tb.post("@arya say thanks", "arya")
	tb.play(5, polite)
	tb.model.answer = nil
	said := false
	n := tb.play(-1, func(name fika.AgentName, n int) string {
		if !said { // while the model is at it
			tb.post("how nice of you")
			said = true
		}
		return polite(name, n)
	})
	if n != 6 {
		t.Errorf("%d more turns, want 6: one that a person spoke into, and five", n)
	}
}

// TestLimitBetweenSteps: a chain that has spent its limit ends in the middle of a turn,
// whoever asked.
func TestLimitBetweenSteps(t *testing.T) {
	for name, limits := range map[string]store.Limits{
		"tokens": {MaxTokens: 15}, "time": {MaxAge: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("look", fika.Pure, nil)
			w.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) {
				w.clock += time.Minute
				return calls(call("1", "look", "{}")), nil
			}
			cfg := w.config()
			cfg.Limits = limits
			c := w.foreground("go")
			res, err := turn.New(cfg).Run(t.Context(), c)
			w.ok(err)
			if res.State != fika.RequestFailed || res.Kind != fika.Limit || !strings.Contains(res.Reason, "continue with: fika run --continue") {
				t.Errorf("%+v", res)
			}
			if n := len(w.calls()); n != 1 {
				t.Errorf("%d tool calls", n)
			}
			w.whole(c.Conversation.ID)
		})
	}
}

// TestHourBetweenSteps: when the agent's hour is used up, its turn waits and goes on in
// the next hour; a person at a terminal is told.
func TestHourBetweenSteps(t *testing.T) {
	w := newWorld(t)
	w.clock = time.Until(time.Now().UTC().Truncate(time.Hour).Add(time.Hour)) // a fresh hour
	w.add("look", fika.Pure, nil)
	w.model.says(calls(call("1", "look", "{}")), text("seen"), calls(call("2", "look", "{}")))
	cfg := w.config()
	cfg.Limits = store.Limits{HourTokens: 15}
	id := w.accept(fika.AskRequest, "go")
	res, err := turn.New(cfg).Run(t.Context(), w.claim())
	w.ok(err)
	r := w.state(id, fika.Waiting)
	if res.State != fika.Waiting || r.Reason != string(fika.WaitLimit) {
		t.Fatalf("%+v, %s", res, r.Reason)
	}
	if c, err := w.store.Claim(t.Context(), w.lease, cfg.Limits, nil); err != nil || c != nil {
		t.Fatalf("claimed %v, %v", c, err)
	}
	w.clock += time.Hour
	res, err = turn.New(cfg).Run(t.Context(), w.claim())
	w.ok(err)
	if res.State != fika.Done || len(w.calls()) != 1 {
		t.Fatalf("%+v, %v", res, w.calls())
	}
	w.clock += time.Hour
	res, err = turn.New(cfg).Run(t.Context(), w.foreground("go"))
	w.ok(err)
	if res.State != fika.RequestFailed || res.Kind != fika.Limit {
		t.Errorf("%+v", res)
	}
}
