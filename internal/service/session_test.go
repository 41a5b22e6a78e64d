package service

import (
	"slices"
	"testing"

	"fika"
	"fika/internal/settings/config"
)

// agentsInConfig makes a config that names agents.
func agentsInConfig(names ...string) *config.Config {
	c := config.Default()
	for _, n := range names {
		c.Agents = append(c.Agents, config.Agent{ID: n})
	}
	return c
}

// TestSessionAgents: text without a name goes to the agent spoken to last, and to
// another one when that is gone from the config.
func TestSessionAgents(t *testing.T) {
	s := NewSessionAgents(agentsInConfig("arya", "bran"))
	for _, c := range []struct {
		text, want string
		toAll      bool
		last       fika.AgentName
	}{
		{"hello", "@arya hello", false, "arya"},
		{"@bran look", "@bran look", false, "bran"},
		{"and `@arya`?", "@bran and `@arya`?", false, "bran"},
		{"@all stop", "@all stop", true, "bran"},
		{"@user, look", "@user, look", false, "bran"},
		{"@brann, look", "@brann, look", false, "bran"},
	} {
		got, toAll := s.Address(c.text)
		if got != c.want || toAll != c.toAll || s.SpokenTo() != c.last {
			t.Errorf("%q: got %q, to all %v, spoken to %s", c.text, got, toAll, s.SpokenTo())
		}
	}
	if gone, now := s.TakeConfig(agentsInConfig("arya")); gone != "bran" || now != "arya" {
		t.Errorf("bran is gone: told %q, %q", gone, now)
	}
	if gone, _ := s.TakeConfig(agentsInConfig()); gone != "" || !slices.Equal(s.Names(), []fika.AgentName{"arya"}) {
		t.Errorf("a config without agents took %q away, and left %v", gone, s.Names())
	}
}

// TestSessionAgentsDefault: the default agent is spoken to first, if there is such a one.
func TestSessionAgentsDefault(t *testing.T) {
	for name, want := range map[string]fika.AgentName{"": "arya", "bran": "bran", "hodor": "arya"} {
		conf := agentsInConfig("arya", "bran")
		conf.Master.DefaultAgent = name
		if got := NewSessionAgents(conf).SpokenTo(); got != want {
			t.Errorf("default %q: spoken to %s", name, got)
		}
	}
}
