package app

import (
	"fika"
	"fika/internal/config"
	"fika/internal/limit"
	"fika/internal/store"
)

// Limits are the limits of chains and agents as the store takes them.
func Limits(c config.Limits) store.Limits {
	return store.Limits{
		MaxDepth: c.MaxDepth, MaxTurns: c.MaxTurnsPerChain, MaxTokens: c.MaxTokensPerChain,
		MaxCost: int64(c.MaxCostPerChain), MaxAge: c.MaxChainAge, MaxEcho: c.MaxEcho,
		HourTurns: c.MaxTurnsPerHour, HourTokens: c.MaxTokensPerHour,
	}
}

// TurnLimits are the limits of what an agent with these settings begins, with the
// budgets of the home.
func (r *Resolver) TurnLimits(s config.Settings) store.Limits {
	l := Limits(s.Chat.Limits)
	l.Budgets.List = Budgets(s.Budgets)
	l.Budgets.Call = func(model string, money bool) (limit.Amount, error) {
		m := s.Model
		if model != "" && model != m.ID && model != m.Nickname {
			other, err := r.Settings(s.Agent, map[string]string{"model": model}, true)
			if err != nil {
				return limit.Amount{}, fika.Wrap(fika.Invalid, "", err)
			}
			m = other.Model
		}
		if money && !m.Known() {
			return limit.Amount{}, fika.Errorf(fika.Invalid, "", "%s", config.Unpriced(m.ID, ""))
		}
		flat := reserveOf(m)
		u := fika.Usage{Input: flat.Input, Output: flat.Output}
		return limit.Amount{Money: int64(m.Prices.Cost(u)), Tokens: u.Input + u.Output}, nil
	}
	return l
}

// reserveOf is how many tokens are set aside for a call of a model.
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

// Budgets are those of a home as they are decided about.
func Budgets(list []config.Budget) []limit.Budget {
	var out []limit.Budget
	for _, b := range list {
		out = append(out, limit.Budget{Scope: b.Scope, Per: limit.Per(b.Per), Amount: limit.Amount{Money: int64(b.Money), Tokens: b.Tokens}})
	}
	return out
}
