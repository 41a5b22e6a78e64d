package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/config"
	"fika/internal/store"
	"fika/internal/term"
)

// Bound is one limit of chains as it holds in a conversation.
type Bound struct {
	Name  string         // depth, turns, tokens, cost, time or echo
	Agent fika.AgentName // whose own limit it is; empty: of all others
	Value int64          // of cost in micro-dollars, of time in milliseconds; 0: no limit
	From  string         // where it was set, as in "config.toml:3"; [BoundHere], or "default"
}

// BoundHere is where a limit was set that is the conversation's own.
const BoundHere = "here"

// bounds are the limits of chains: what they are called, and where they are.
var bounds = [...]struct {
	name, key string
	of        func(store.Limits) int64
	own       func(*fika.ChainLimits) **int64
}{
	{"depth", "max_depth", func(l store.Limits) int64 { return int64(l.MaxDepth) }, func(c *fika.ChainLimits) **int64 { return &c.Depth }},
	{"turns", "max_turns_per_chain", func(l store.Limits) int64 { return int64(l.MaxTurns) }, func(c *fika.ChainLimits) **int64 { return &c.Turns }},
	{"tokens", "max_tokens_per_chain", func(l store.Limits) int64 { return l.MaxTokens }, func(c *fika.ChainLimits) **int64 { return &c.Tokens }},
	{"cost", "max_cost_per_chain", func(l store.Limits) int64 { return l.MaxCost }, func(c *fika.ChainLimits) **int64 { return &c.Cost }},
	{"time", "max_chain_age", func(l store.Limits) int64 { return l.MaxAge.Milliseconds() }, func(c *fika.ChainLimits) **int64 { return &c.Time }},
	{"echo", "max_echo", func(l store.Limits) int64 { return int64(l.MaxEcho) }, func(c *fika.ChainLimits) **int64 { return &c.Echo }},
}

// Bounds gives the limits of chains in a conversation, and after each those of
// agents who take part and have others of their own.
func (s *Agents) Bounds(ctx context.Context, conv fika.Conversation) ([]Bound, error) {
	own, err := s.ownLimits(ctx, conv)
	if err != nil {
		return nil, err
	}
	all := Limits(s.config().Chat.Limits)
	var out []Bound
	for _, b := range bounds {
		if n := *b.own(&conv.Limits); n != nil {
			out = append(out, Bound{Name: b.name, Value: *n, From: BoundHere})
			continue
		}
		from := "default"
		if at, ok := s.config().Where("chat." + b.key); ok {
			from = fmt.Sprintf("%s:%d", at.File, at.Line)
		}
		out = append(out, Bound{Name: b.name, Value: b.of(all), From: from})
		for _, o := range own {
			if n := b.of(Limits(o.Chat.Limits)); n != b.of(all) {
				out = append(out, Bound{Name: b.name, Agent: o.Agent, Value: n, From: o.Origins[b.key]})
			}
		}
	}
	return out, nil
}

// ownLimits are the settings of the agents that take part. One whose settings
// do not work has no say.
func (s *Agents) ownLimits(ctx context.Context, conv fika.Conversation) ([]config.Settings, error) {
	in, err := s.Client.Store.Participants(ctx, conv.ID)
	if err != nil {
		return nil, err
	}
	agents, err := s.Client.Store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	var out []config.Settings
	for _, a := range agents {
		if a.ID != conv.Agent && !slices.Contains(in, string(a.Name)) {
			continue
		}
		if set, err := s.app.Settings(a.Name, nil, true); err == nil {
			out = append(out, set)
		}
	}
	return out, nil
}

// rests says that an agent's hour is used up; empty: it is not.
func rests(row fika.Agent, now time.Time) string {
	if !row.Held(now) {
		return ""
	}
	return fmt.Sprintf("@%s has used up its %s", row.Name, row.HeldReason)
}

// goesOn says when an agent whose hour is used up goes on.
func goesOn(row fika.Agent, now time.Time) string {
	return fmt.Sprintf("goes on at %s (in %s)", row.HeldUntil.Local().Format("15:04"), term.Duration(row.HeldUntil.Sub(now).Round(time.Second)))
}

// HeldHint says, to who wants something of an agent whose hour is used up,
// when it will come to it; empty: it is not used up.
func HeldHint(row fika.Agent, now time.Time) string {
	why := rests(row, now)
	if why == "" {
		return ""
	}
	return why + "; what waits for it " + goesOn(row, now)
}

// waitingFor counts what an agent would take if its hour were not used up:
// requests, and conversations with notifications.
func (s *Agents) waitingFor(ctx context.Context, id fika.AgentID) int {
	a, err := s.Client.Store.Activity(ctx, store.ActivityQuery{DroppedSince: s.app.Now()})
	if err != nil {
		return 0
	}
	n, seen := 0, map[fika.ConversationID]bool{}
	for _, r := range a.Requests {
		if r.Agent == id && r.State == fika.Open {
			n++
		}
	}
	for _, x := range a.Notifications {
		if x.Agent == id && x.State == fika.NotificationPending && !seen[x.Conversation] {
			seen[x.Conversation] = true
			n++
		}
	}
	return n
}
