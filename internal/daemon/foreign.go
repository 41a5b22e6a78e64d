package daemon

import (
	"context"
	"slices"

	"fika"
	"fika/internal/app"
	busnats "fika/internal/bus/nats"
	"fika/internal/config"
	"fika/internal/guard"
)

// foreignRights returns the rights of requests from the bus for an agent. On the hub's
// own server a request was published either with the credential of a member, and has
// the rights that a person gives that member, or with the credential that fika made for
// the person's programs, and counts as the person's. On an external server nobody can
// tell who publishes: requests have the rights that a person gives to all. It returns
// Denied if the agent takes no work from people, or if the member may not ask it.
func foreignRights(a *app.App, own bool, member string, to fika.AgentName) (*fika.Rights, error) {
	if err := a.MayCall(nil, to); err != nil || own && member == "" {
		return nil, err
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if !own {
		return rightsWith(c.NATS.RequestTools, false), nil
	}
	m := c.BusMember(member)
	switch {
	case m == nil:
		return nil, fika.Errorf(fika.Denied, "", "%q is no member of this bus any more ([[bus_members]])", member)
	case !m.MayAsk(to):
		return nil, fika.Errorf(fika.Denied, "", "%s may not ask @%s (agents in its [[bus_members]] entry)", member, to)
	}
	return rightsWith(m.Tools, m.Network == "on"), nil
}

// rightsWith returns the rights of a request under which an agent may use at most these
// tools; nil means all that the agent has.
func rightsWith(tools []string, network bool) *fika.Rights {
	if slices.Contains(tools, guard.Anyone) {
		return nil
	}
	return &fika.Rights{Tools: tools, Sandbox: "best", Network: network, Fixed: true}
}

// mayForeignBeCalled refuses the names of agents and of members: a request from a
// member is recognised by its connection.
func mayForeignBeCalled(ctx context.Context, a *app.App, name string) error {
	c, err := a.Config()
	if err != nil {
		return err
	}
	if m := c.BusMember(name); m != nil {
		return fika.Errorf(fika.Denied, "", "%q is the name of a member of this bus, and only that one goes by it", m.Name)
	}
	return a.MayBeCalled(ctx, name)
}

// busMembers converts the members in the configuration to the form that the server
// takes.
func busMembers(c *config.Config) []busnats.Member {
	var out []busnats.Member
	for _, m := range c.BusMembers {
		one := busnats.Member{Name: m.Name}
		if m.Agents != nil {
			one.Agents = []fika.AgentName{}
		}
		for _, a := range m.Agents {
			one.Agents = append(one.Agents, fika.AgentName(a))
		}
		out = append(out, one)
	}
	return out
}

// memberNames returns the names of the members in the current configuration.
func memberNames(a *app.App) []string {
	c, err := a.Config()
	if err != nil {
		return nil
	}
	var out []string
	for _, m := range c.BusMembers {
		out = append(out, m.Name)
	}
	return out
}
