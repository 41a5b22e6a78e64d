package config

import (
	"cmp"
	"fmt"
	"slices"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/settings/toml"
)

func budgetKeys() []key[Budget] {
	var pers []string
	for _, p := range limit.AllPeriods() {
		pers = append(pers, string(p))
	}
	return []key[Budget]{
		{name: "scope", at: func(b *Budget) any { return &b.Scope }, example: `"home"`, check: func(_ value, at any) string { return wrongScope(*at.(*string)) },
			doc: "Whose calls count: home, user (each person separately), chain (each chain separately), agent:NAME or chat:NAME. Required."},
		{name: "per", at: func(b *Budget) any { return &b.Per }, oneOf: pers, example: `"day"`,
			doc: "The period of the budget, by the local clock and calendar. Work for which an hour or a day has no room waits for the next one; with month or total it fails. Required."},
		{name: "money", at: func(b *Budget) any { return &b.Money }, check: func(_ value, at any) string { return wrongAmount(int64(*at.(*MicroDollars))) }, example: "5.00", doc: "What may be spent, in US dollars. Needs models whose prices are known."},
		{name: "tokens", at: func(b *Budget) any { return &b.Tokens }, check: func(_ value, at any) string { return wrongAmount(*at.(*int64)) }, example: "2000000", doc: "How many tokens may be used, read and written."},
	}
}

// wrongAmount says what is wrong with the amount of a budget; "" if nothing.
func wrongAmount(n int64) string {
	if n <= 0 {
		return "a budget is more than 0"
	}
	return ""
}

// wrongScope says what is wrong with a scope; "" if nothing.
func wrongScope(scope string) string {
	kind, name, wrong := limit.ParseScope(scope)
	if wrong == "unknown" {
		wrong = fmt.Sprintf("%s is none of home, user, chain, agent:NAME and chat:NAME%s", toml.Quote(scope), toml.NearestHint(kind, []string{"home", "user", "chain", "agent", "chat"}))
	}
	if wrong == "" && kind == limit.ScopeAgent {
		if parsed, err := fika.ParseAgentName(name); err != nil || string(parsed) != name {
			wrong = fmt.Sprintf("%s is not the name of an agent", toml.Quote(name))
		}
	}
	return wrong
}

// readBudgets adds the entries of one file. A budget in a later file replaces the same
// budget of an earlier one.
func (r *reader) readBudgets(v value, path string, list *[]Budget) bool {
	seen := map[[2]string]bool{}
	begin := func(item value) Budget { return Budget{at: r.Place(item.At)} }
	return readTables(r, v, path, list, budgetKeys(), begin, func(item value, b *Budget) {
		r.needKey(item, "scope", "this budget has no scope")
		r.needKey(item, "per", "this budget has no per")
		if item.Table.Get("money") == nil && item.Table.Get("tokens") == nil {
			r.Problem(item.At, "this budget limits nothing: set money or tokens")
		}
		id := [2]string{b.Scope, b.Per}
		if seen[id] && b.Scope != "" {
			r.Problem(item.At, "budget of %s per %s already exists", toml.Quote(b.Scope), b.Per)
		}
		seen[id] = true
	})
}

// layBudgets replaces earlier budgets by those of a later layer, which are the last of
// the list. A project's budgets can only tighten.
func (c *Config) layBudgets(before int, tighten bool) {
	out := c.Budgets[:before:before]
	for _, b := range c.Budgets[before:] {
		i := 0
		for i < len(out) && (out[i].Scope != b.Scope || out[i].Per != b.Per) {
			i++
		}
		switch {
		case i == len(out):
			out = append(out, b)
		case tighten:
			out[i].Money, out[i].Tokens = tighter(out[i].Money, b.Money), tighter(out[i].Tokens, b.Tokens)
		default:
			out[i] = b
		}
	}
	c.Budgets = out
}

// tighter returns the smaller of two limits, of which 0 means none.
func tighter[T ~int64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// checkBudgets refuses money limits that could have no effect, as far as that is known:
// for models that are defined and have no price.
func (c *crossCheck) checkBudgets() {
	c.checkChainCosts()
	for _, b := range c.Budgets {
		kind, name, wrong := limit.ParseScope(b.Scope)
		if kind == limit.ScopeAgent && wrong == "" && c.entryIndex(name) < 0 && len(c.Agents) > 0 {
			if meant := toml.NearestHint(name, c.agentIDs()); meant != "" {
				c.problems.Add(b.at, "agent %s not found%s", toml.Quote(name), meant)
			}
		}
		if b.Money <= 0 {
			continue
		}
		if m, who := c.unpricedIn(kind, name); m != "" {
			c.problems.Add(b.at, "%s", UnpricedWarning(m, who))
		}
	}
}

// checkChainCosts does the same for max_cost_per_chain.
func (c *crossCheck) checkChainCosts() {
	if c.Chat.MaxCostPerChain > 0 {
		if m, who := c.unpricedIn(limit.ScopeHome, ""); m != "" {
			c.problems.Add(c.where["chat.max_cost_per_chain"], "%s", UnpricedWarning(m, who))
		}
	}
	for i := range c.Agents {
		if a := &c.Agents[i]; a.MaxCostPerChain > 0 && a.Pool == "" {
			if m, who := c.unpricedIn(limit.ScopeAgent, a.ID); m != "" {
				c.problems.Add(c.placeOf("agents", i, "max_cost_per_chain"), "%s", UnpricedWarning(m, who))
			}
		}
	}
}

// UnpricedWarning says that a money limit has no effect on a model, and what to set.
func UnpricedWarning(model, who string) string {
	if who != "" {
		who = " of " + who
	}
	return fmt.Sprintf("money cannot be limited: no price is known of the model %s%s; set prices = {input = …, output = …} (US dollars per million tokens) in its [[models]] entry, or limit tokens", toml.Quote(model), who)
}

// unpricedIn returns a defined model without a price that calls in a scope use, except those
// of guests.
func (c *Config) unpricedIn(kind, name string) (model, who string) {
	unpriced := func(id string) bool {
		m, ok := c.defineModel(id)
		if !ok {
			return false
		}
		full, err := c.completeModel(m, route{}, nil)
		return err == nil && !full.PriceKnown()
	}
	for _, a := range c.Agents {
		if a.Engine == EngineACP {
			continue // its turns tell
		}
		ids := a.Models
		if len(ids) == 0 {
			ids = []string{cmp.Or(a.Model, c.Model)}
		}
		for _, id := range ids {
			if (kind != limit.ScopeAgent || a.ID == name) && id != "" && unpriced(id) {
				return id, "agent " + a.ID
			}
		}
	}
	if kind != limit.ScopeAgent && c.Model != "" && unpriced(c.Model) {
		return c.Model, ""
	}
	return "", ""
}

// CheckBudget returns Invalid if something is wrong with a budget.
func (c *Config) CheckBudget(b Budget) error {
	const op = ""
	if wrong := wrongScope(b.Scope); wrong != "" {
		return fika.Errorf(fika.Invalid, op, "scope: %s", wrong)
	}
	if per := limit.Per(b.Per); !slices.Contains(limit.AllPeriods(), per) {
		return fika.Errorf(fika.Invalid, op, "per: %s is none of hour, day, month and total%s", toml.Quote(b.Per), toml.NearestHint(b.Per, []string{"hour", "day", "month", "total"}))
	}
	if b.Money < 0 || b.Tokens < 0 || b.Money == 0 && b.Tokens == 0 {
		return fika.Errorf(fika.Invalid, op, "a budget limits money or tokens to more than 0")
	}
	kind, name, _ := limit.ParseScope(b.Scope)
	if kind == limit.ScopeAgent && c.entryIndex(name) < 0 {
		if meant := toml.NearestHint(name, c.agentIDs()); meant != "" {
			return fika.Errorf(fika.Invalid, op, "agent %s not found%s", toml.Quote(name), meant)
		}
	}
	if b.Money > 0 {
		if m, who := c.unpricedIn(kind, name); m != "" {
			return fika.Errorf(fika.Invalid, op, "%s", UnpricedWarning(m, who))
		}
	}
	return nil
}
