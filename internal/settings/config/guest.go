package config

import (
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/settings/toml"
)

// EngineACP is the engine of agents whose turns are done by another agent program, over the
// Agent Client Protocol.
const EngineACP = "acp"

// What pays for the turns of a guest, if not money for each.
const (
	Subscription = "subscription"
	Free         = "free"
)

// guestModel returns the name by which reports know the model of a guest, which fika does
// not know: its program, and what pays for it.
func guestModel(command []string, billing string) string {
	return fika.GuestModels + filepath.Base(command[0]) + map[string]string{Subscription: fika.BySubscription, Free: fika.FreeOfCharge}[billing]
}

// IsGuest reports whether the model is that of a guest: what a turn costs is known, if at
// all, when it has ended.
func (m Model) IsGuest() bool { return m.Provider == EngineACP }

// Bill returns the usage of a turn of a guest with what it costs. What costs nothing by money
// is not known, unless something else pays for it.
func (m Model) Bill(u fika.Usage) fika.Usage {
	if m.PriceKnown() && (u.Cost == 0 || m.Prices == (Prices{})) {
		u.Cost, _ = m.Cost(u)
	}
	return fika.AsBilled(m.ID, u)
}

// resolveGuest fills in what takes the place of the model of a guest.
func (in Inputs) resolveGuest(m merged, s *Settings) error {
	if len(s.Command) == 0 {
		return fika.Errorf(fika.Invalid, "settings", "@%s has engine = \"acp\" and no command: name its program, as in command = [\"claude-agent-acp\"]", s.Agent)
	}
	s.Command = slices.Clone(s.Command)
	if strings.Contains(s.Command[0], "/") {
		s.Command[0] = in.absolutePath(s.Command[0])
	}
	s.Model = Model{ID: guestModel(s.Command, s.Billing), Provider: EngineACP}
	if s.Billing != "" {
		s.Model.Priced = s.Billing
	} else if s.prices != (Prices{}) {
		s.Model.Prices, s.Model.Priced = s.prices, fromConfig
	}
	s.ContextWindow = firstSet(m.ContextWindowLimit, DefaultContextWindow)
	return nil
}

// checkGuest checks the keys of an agent whose turns a program does.
func (c *crossCheck) checkGuest(i int) {
	a := &c.Agents[i]
	switch {
	case a.Engine == "":
		for _, key := range []string{"command", "billing", "prices"} {
			if at, ok := c.where[elementPath("agents", i)+"."+key]; ok {
				c.problems.Add(at, "%s needs engine = \"acp\"", key)
			}
		}
	case a.Billing != "" && a.Prices != (Prices{}):
		c.problems.Add(c.placeOf("agents", i, "prices"), "prices mean nothing with billing = %s: no turn is paid for by itself", toml.Quote(a.Billing))
	case len(a.Command) == 0 || a.Command[0] == "":
		c.problems.Add(c.placeOf("agents", i, "engine"), "engine = \"acp\" needs a command: name the program, as in command = [\"claude-agent-acp\"]")
	default:
		for _, key := range []string{"model", "models", "base_url", "provider", "api_key_env"} {
			if at, ok := c.where[elementPath("agents", i)+"."+key]; ok {
				c.problems.Add(at, "%s means nothing with engine = \"acp\": the program chooses its model itself", key)
			}
		}
	}
}
