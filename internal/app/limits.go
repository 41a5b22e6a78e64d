package app

import (
	"slices"
	"strings"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/rights/limit"
	"fika/internal/settings/config"
	"fika/internal/store"
)

// StoreLimits converts the limits of chains and agents to the form that the store
// takes.
func StoreLimits(c config.Limits) store.Limits {
	return store.Limits{
		MaxDepth: c.MaxDepth, MaxTurns: c.MaxTurnsPerChain, MaxTokens: c.MaxTokensPerChain,
		MaxCost: int64(c.MaxCostPerChain), MaxAge: c.MaxChainAge, MaxEcho: c.MaxEcho,
		HourTurns: c.MaxTurnsPerHour, HourTokens: c.MaxTokensPerHour,
	}
}

// TurnLimits returns the limits of the turns of an agent with these settings, including
// the budgets of the home.
func (r *Resolver) TurnLimits(s config.Settings) store.Limits {
	l := StoreLimits(s.Chat.Limits)
	l.Budgets.List, l.Backed = LimitBudgets(s.Budgets), s.Backed
	l.Board = r.BoardOf(s.Agent)
	if s.Engine == config.EngineACP && s.Billing == "" {
		l.Budgets.Guest = s.Model.ID
	}
	if c, err := r.config.Config(); err == nil {
		l.Rounds = c.Landing.MaxRounds
	}
	l.Budgets.Call = func(model string, money bool) (limit.Amount, error) {
		all := s.All()
		if model != "" && (s.Choice.Several() || model != s.Model.ID && model != s.Model.Nickname) {
			other, err := r.Settings(s.Agent, map[string]string{"model": model}, true)
			if err != nil {
				return limit.Amount{}, fika.Wrap(fika.Invalid, "", err)
			}
			all = other.All()
		}
		return dearestCall(all, money)
	}
	return l
}

// BoardOf returns which tasks of the board an agent of this home takes, according to its current files;
// nil: none. A pool takes none itself: its members do.
func (r *Resolver) BoardOf(name fika.AgentName) *limit.Board {
	c, err := r.config.Config()
	if err != nil {
		return nil
	}
	e := c.Agent(name)
	if e == nil || !e.Board || e.Instances > 0 {
		return nil
	}
	b := &limit.Board{Most: e.BoardMax}
	for _, can := range e.Capabilities {
		b.Capabilities = append(b.Capabilities, strings.ToLower(can))
	}
	by, err := r.OwnCallers(name)
	switch {
	case err != nil: // nobody knows who may ask it
		b.CallableBy = []string{}
	case slices.Contains(by, guard.Anyone):
	case by != nil:
		b.CallableBy = append([]string{}, by...)
		for _, who := range by {
			if pool := c.Agent(fika.AgentName(who)); pool != nil {
				for _, member := range pool.Members() {
					b.CallableBy = append(b.CallableBy, string(member))
				}
			}
		}
	}
	return b
}

// dearestCall returns what is set aside for a call of one of several models. Which
// model is called is decided at the time of the call, and a turn may reach the most
// expensive at any call, so setting aside less could overspend.
func dearestCall(models []config.ModelUse, money bool) (limit.Amount, error) {
	var most limit.Amount
	for _, u := range models {
		if money && !u.Model.PriceKnown() && !u.Model.IsGuest() {
			return limit.Amount{}, fika.Errorf(fika.Invalid, "", "%s", config.UnpricedWarning(u.Model.ID, ""))
		}
		flat := reserveOf(u.Model)
		used := fika.Usage{Input: flat.Input, Output: flat.Output}
		cost, known := u.Model.Cost(used)
		if !known && u.Model.IsGuest() {
			cost = 1 // of a guest: nothing is left only when all is spent
		}
		most = most.Max(limit.Amount{Money: cost, Tokens: used.Input + used.Output})
	}
	return most, nil
}

// reserveOf returns how many tokens are set aside for a call of a model.
func reserveOf(m config.Model) config.Reserve {
	if m.Reserve != nil {
		return *m.Reserve
	}
	r := config.DefaultReserve()
	if m.ContextWindow > 0 {
		r.Input = min(r.Input, m.ContextWindow)
	}
	if m.MaxTokens > 0 {
		r.Output = min(r.Output, m.MaxTokens)
	}
	return r
}

// LimitBudgets converts the budgets of a home to the form that package limit takes.
func LimitBudgets(list []config.Budget) []limit.Budget {
	var out []limit.Budget
	for _, b := range list {
		out = append(out, limit.Budget{Scope: b.Scope, Per: limit.Per(b.Per), Amount: limit.Amount{Money: int64(b.Money), Tokens: b.Tokens}})
	}
	return out
}
