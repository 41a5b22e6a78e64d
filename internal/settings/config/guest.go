package config

import (
	"path/filepath"
	"slices"
	"strings"

	"fika"
)

// EngineACP is the engine of agents whose turns are done by another agent program, over the
// Agent Client Protocol.
const EngineACP = "acp"

// GuestModel returns the name by which reports know the model of a guest, which fika does
// not know.
func GuestModel(command []string) string {
	if len(command) == 0 {
		return EngineACP
	}
	return EngineACP + ":" + filepath.Base(command[0])
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
	s.Model = Model{ID: GuestModel(s.Command), Provider: EngineACP}
	s.ContextWindow = firstSet(m.ContextWindowLimit, DefaultContextWindow)
	return nil
}

// checkGuest checks the keys of an agent whose turns a program does.
func (c *crossCheck) checkGuest(i int) {
	a := &c.Agents[i]
	switch {
	case a.Engine == "" && len(a.Command) > 0:
		c.problems.Add(c.placeOf("agents", i, "command"), "command needs engine = \"acp\"")
	case a.Engine == "":
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
