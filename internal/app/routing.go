package app

import (
	"context"
	"slices"

	"fika"
	"fika/internal/chat/route"
	"fika/internal/rights/guard"
	"fika/internal/rights/limit"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// Route orders the agents of the configuration by how well they fit a prompt of who
// (nil: a person), the best first. With able, only those that it accepts are
// considered. Agents that cannot be chosen now come last, with the reason. Route calls
// no model and asks no agent's process.
func (a *App) Route(ctx context.Context, s *store.Store, who *Speaker, prompt string, able func(config.Agent) bool) ([]route.Match, error) {
	agents, err := a.candidates(ctx, s, who, able)
	if err != nil {
		return nil, err
	}
	return route.Rank(agents, prompt), nil
}

// candidates returns the agents of the configuration as routing sees them.
func (a *App) candidates(ctx context.Context, s *store.Store, who *Speaker, able func(config.Agent) bool) ([]route.Agent, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	rows, err := s.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	spent, err := a.balances(ctx, s, c)
	if err != nil {
		return nil, err
	}
	var agents []route.Agent
	for _, e := range c.Entries() { // a pool, not its members
		name := fika.AgentName(e.ID)
		if able != nil && !able(*e) || who != nil && who.Agent == name {
			continue
		}
		var row fika.Agent
		if i := slices.IndexFunc(rows, func(r fika.Agent) bool { return r.Name == name }); i >= 0 {
			row = rows[i]
		}
		one := route.Agent{Name: name, Description: e.Description, Capabilities: e.Capabilities, Examples: e.Examples, Tools: e.ToolPermissions}
		if one.Tools == nil {
			one.Tools = c.ToolPermissions
		}
		if one.Barred = a.whyNot(ctx, s, row, name, who); one.Barred == "" {
			one.Barred = a.overBudget(spent, name, who)
		}
		agents = append(agents, one)
	}
	return agents, nil
}

// CannotTakeOver says why an agent cannot now work what another was asked for; "" if it
// can. The asker must be allowed to ask it.
func (a *App) CannotTakeOver(ctx context.Context, s *store.Store, r store.RequestInfo, name fika.AgentName) (string, error) {
	c, err := a.Config()
	if err != nil {
		return "", err
	}
	row, err := s.Agent(ctx, name)
	if err != nil {
		return "", err
	}
	var who *Speaker
	if r.Payload.Writer == fika.ByAgent {
		who = &Speaker{Agent: fika.AgentName(r.Payload.From)}
	}
	if why := a.whyNot(ctx, s, row, name, who); why != "" {
		return why, nil
	}
	spent, err := a.balances(ctx, s, c)
	return a.overBudget(spent, name, who), err
}

// whyNot says why an agent cannot be chosen now, apart from budgets; "" if it can.
func (a *App) whyNot(ctx context.Context, s *store.Store, row fika.Agent, name fika.AgentName, who *Speaker) string {
	caller, by := guard.User, "you may not ask it"
	if who != nil {
		caller, by = string(who.Agent), "@"+string(who.Agent)+" may not ask it"
	}
	allowed, err := a.CallableBy(ctx, name)
	switch {
	case fika.IsKind(err, fika.Denied):
		return "its host has not said who may ask it"
	case err != nil:
		return "its settings are broken (" + hint.ConfigCheck.With() + ")"
	case !a.Allows(ctx, allowed, caller):
		return by + " (callable_by)"
	case row.Desired.Stopped():
		return "it was stopped by hand (" + hint.AgentStart.With(name) + ")"
	case row.State == fika.AgentFailed:
		return "it has failed: " + row.StateReason
	case row.QuotaUsedUp(s.Now()):
		return "it reached its limit of " + row.HeldReason
	}
	return ""
}

func (a *App) balances(ctx context.Context, s *store.Store, c *config.Config) ([]store.BudgetBalance, error) {
	list := LimitBudgets(c.Budgets)
	if len(list) == 0 {
		return nil, nil
	}
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	id, err := h.ID()
	if err != nil {
		return nil, err
	}
	return s.Balances(ctx, id, limit.Budgets{List: list})
}

// overBudget says which budget has no room for the next call of an agent; "" if all
// have.
func (a *App) overBudget(spent []store.BudgetBalance, agent fika.AgentName, who *Speaker) string {
	if len(spent) == 0 {
		return ""
	}
	settings, err := a.Settings(agent, nil, true)
	if err != nil {
		return "" // the request will report what is wrong with them
	}
	for _, b := range spent {
		kind, name, _ := limit.ParseScope(b.Scope)
		switch kind {
		case limit.ScopeHome:
		case limit.ScopeAgent:
			if name != string(agent) && (settings.Pool == "" || name != settings.Pool) {
				continue
			}
		case limit.ScopeUser:
			if who != nil || b.Holder != settings.Username {
				continue
			}
		default:
			continue // a chat or a chain that does not exist yet
		}
		need, err := a.TurnLimits(settings).Budgets.Call("", b.Money > 0)
		if err != nil {
			return "" // likewise
		}
		if b.Verdict(b.Balance, need) != nil {
			return "over budget: " + b.StandingLine(b.Balance)
		}
	}
	return ""
}

// capable returns the agent for a prompt among those with a capability: the best fit of
// those that can be chosen now, else the first. It returns "" if no agent has the
// capability.
func (a *App) capable(ctx context.Context, s *store.Store, capability, prompt string) string {
	list, err := a.Route(ctx, s, nil, prompt, func(e config.Agent) bool { return slices.Contains(e.Capabilities, capability) })
	if err == nil && len(list) > 0 && list[0].Barred == "" && list[0].Score > 0 {
		return string(list[0].Agent)
	}
	return a.firstCapable(capability, func(name string) bool {
		return slices.ContainsFunc(list, func(m route.Match) bool { return string(m.Agent) == name && m.Barred != "" })
	})
}

// firstCapable returns the first agent of the configuration that has a capability and
// is not barred, or, if all are barred, the first that has it.
func (a *App) firstCapable(capability string, barred func(name string) bool) string {
	read, err := a.Config()
	if err != nil {
		return ""
	}
	first := ""
	for _, e := range read.Entries() {
		if !slices.Contains(e.Capabilities, capability) {
			continue
		}
		if !barred(e.ID) {
			return e.ID
		}
		if first == "" {
			first = e.ID
		}
	}
	return first
}
