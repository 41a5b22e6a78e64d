package config

import (
	"fmt"
	"strings"

	"fika"
	"fika/internal/settings/toml"
)

// MaxInstances is the most members of a pool.
const MaxInstances = 32

// MemberName returns the name of a pool's n-th member, from 1.
func MemberName(pool string, n int) string { return fmt.Sprintf("%s-%d", pool, n) }

// expandPools adds the members of pools. They share the settings and the place of their
// pool's entry.
func (c *Config) expandPools() {
	for i := range c.Agents {
		pool := c.Agents[i]
		if pool.Instances == 0 {
			continue
		}
		places := map[string]Place{}
		for path, at := range c.where {
			if rest, ok := strings.CutPrefix(path, elementPath("agents", i)); ok {
				places[rest] = at
			}
		}
		for n := range min(pool.Instances, MaxInstances) {
			member := pool
			member.ID, member.Pool, member.Instances = MemberName(pool.ID, n+1), pool.ID, 0
			for rest, at := range places {
				c.where[elementPath("agents", len(c.Agents))+rest] = at
			}
			c.Agents = append(c.Agents, member)
		}
	}
}

// checkPool checks the size of a pool and the names of its members.
func (c *crossCheck) checkPool(i int) {
	a := &c.Agents[i]
	if a.Places > 0 {
		at := c.placeOf("agents", i, "places")
		switch {
		case a.Instances == 0:
			c.problems.Add(at, "places is for a pool, which has instances")
		case a.Places > a.Instances:
			c.problems.Add(at, "the pool has only %d instances, so there are no %d places for them", a.Instances, a.Places)
		case c.Store.URL == "":
			c.problems.Add(at, "places needs a database that hosts share ([store] url): that of this home is a file")
		}
	}
	if a.Instances == 0 {
		return
	}
	at := c.placeOf("agents", i, "instances")
	if last := MemberName(a.ID, a.Instances); !named(last) {
		c.problems.Add(at, "the last member of this pool would be called %s, which is too long for an agent's name: shorten the id", toml.Quote(last))
	}
}

func named(s string) bool {
	_, err := fika.ParseAgentName(s)
	return err == nil
}

// memberOf says which pool an agent is a member of, if any.
func memberOf(a *Agent) string {
	if a.Pool == "" {
		return ""
	}
	return fmt.Sprintf(" (it is a member of the pool %s, which has instances)", toml.Quote(a.Pool))
}

// Members returns the names of a pool's members in order; nil if the agent is not a
// pool.
func (a *Agent) Members() []fika.AgentName {
	var out []fika.AgentName
	for n := range a.Instances {
		out = append(out, fika.AgentName(MemberName(a.ID, n+1)))
	}
	return out
}

// Entries returns the [[agents]] entries as they were written: without the members of
// pools.
func (c *Config) Entries() []*Agent {
	var out []*Agent
	for i := range c.Agents {
		if c.Agents[i].Pool == "" {
			out = append(out, &c.Agents[i])
		}
	}
	return out
}
