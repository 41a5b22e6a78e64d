package service

import (
	"context"
	"fmt"
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/store"
)

// Bound is one limit on chains that applies in a conversation.
type Bound struct {
	Name  string         // depth, turns, tokens, cost, time or echo
	Agent fika.AgentName // agent with this limit of its own; empty: all others
	Value int64          // of cost in micro-dollars, of time in milliseconds; 0: no limit
	From  string         // where it was set, as in "config.toml:3"; [BoundHere], or "default"
}

// BoundHere is the From of a limit set for the conversation itself.
const BoundHere = "here"

// bounds lists the limits on chains: their names, keys and fields.
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

// Limits returns the limits on chains in a conversation, each followed by those of
// participating agents that have their own.
func (s *Chats) Limits(ctx context.Context, conv fika.Conversation) ([]Bound, error) {
	if err := s.c.mayConversation(ctx, "conversation.limits", conv.ID); err != nil {
		return nil, err
	}
	own, err := s.ownLimits(ctx, conv)
	if err != nil {
		return nil, err
	}
	all := app.StoreLimits(s.c.config().Chat.Limits)
	var out []Bound
	for _, b := range bounds {
		if n := *b.own(&conv.Limits); n != nil {
			out = append(out, Bound{Name: b.name, Value: *n, From: BoundHere})
			continue
		}
		from := "default"
		if at, ok := s.c.config().WhereSet("chat." + b.key); ok {
			from = fmt.Sprintf("%s:%d", at.File, at.Line)
		}
		out = append(out, Bound{Name: b.name, Value: b.of(all), From: from})
		for _, o := range own {
			if n := b.of(app.StoreLimits(o.Chat.Limits)); n != b.of(all) {
				out = append(out, Bound{Name: b.name, Agent: o.Agent, Value: n, From: o.Origins[b.key]})
			}
		}
	}
	return out, nil
}

// ownLimits returns the settings of the participating agents. Agents whose settings are
// invalid are left out.
func (s *Chats) ownLimits(ctx context.Context, conv fika.Conversation) ([]config.Settings, error) {
	in, err := s.c.store.Participants(ctx, conv.ID)
	if err != nil {
		return nil, err
	}
	agents, err := s.c.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	var out []config.Settings
	for _, a := range agents {
		if a.ID != conv.Agent && !slices.Contains(in, string(a.Name)) {
			continue
		}
		if set, err := s.c.app.Settings(a.Name, nil, true); err == nil {
			out = append(out, set)
		}
	}
	return out, nil
}

// SetLimits sets the conversation's own limits. It returns Invalid for a limit on money
// that could have no effect because the price of a participating agent's model is
// unknown.
func (s *Chats) SetLimits(ctx context.Context, conv fika.Conversation, l fika.ChainLimits) error {
	if err := s.c.may("conversation.limit"); err != nil {
		return err
	}
	if l.Cost != nil && *l.Cost > 0 && (conv.Limits.Cost == nil || *conv.Limits.Cost != *l.Cost) {
		agents, err := s.ownLimits(ctx, conv)
		if err != nil {
			return err
		}
		for _, a := range agents {
			for _, u := range a.All() {
				if !u.Model.PriceKnown() && !u.Model.IsGuest() {
					return fika.Errorf(fika.Invalid, "", "%s", config.UnpricedWarning(u.Model.ID, "agent "+string(a.Agent)))
				}
			}
		}
	}
	return s.c.store.SetLimits(ctx, conv.ID, l)
}

// ChainInfo is what one message has set off, and how much of its limits is used.
type ChainInfo struct {
	store.ChainInfo
	Unpriced     bool // what some of it has cost is not known
	Subscription bool // a subscription has paid for some of it
}

// Chains returns the chains that are going on in a conversation, or else the last one.
func (s *Chats) Chains(ctx context.Context, conv fika.Conversation) ([]ChainInfo, error) {
	if err := s.c.mayConversation(ctx, "conversation.chains", conv.ID); err != nil {
		return nil, err
	}
	list, err := s.c.store.Chains(ctx, conv.ID)
	var out []ChainInfo
	for _, c := range list {
		all, err := s.c.store.OfChain(ctx, c.Root)
		if err != nil {
			return nil, err
		}
		i, tokens := ChainInfo{ChainInfo: c}, int64(0)
		for _, r := range all {
			u := r.Outcome.Usage
			if r.State.Terminal() && u != (fika.Usage{}) {
				i.Unpriced = i.Unpriced || s.c.RequestUnpriced(r)
			}
			i.Subscription, tokens = i.Subscription || u.Subscription, tokens+u.Input+u.Output
		}
		if c.Cost == 0 && c.Tokens > tokens { // of requests under way
			i.Unpriced = true
		}
		out = append(out, i)
	}
	return out, err
}
