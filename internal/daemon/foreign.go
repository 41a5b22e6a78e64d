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

// foreignRights are the rights of requests for an agent that come from the bus.
// On a server of the hub's own they have been published with the credential of a
// member, and have what a person gives that one, or with the credential that fika
// made for the person's programs, and are a person's. On somebody else's nobody can
// tell who publishes: they have what a person gives to all. Denied when the agent
// takes no work from people, or when the member may not ask it.
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

// rightsWith are the rights of a request that may have an agent use these tools at
// most; nil: all that the agent has.
func rightsWith(tools []string, network bool) *fika.Rights {
	if slices.Contains(tools, guard.Anyone) {
		return nil
	}
	return &fika.Rights{Tools: tools, Sandbox: "best", Network: network, Fixed: true}
}

// mayForeignBeCalled refuses, beside the names of agents, those of members: who
// asks as one is known by the connection.
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

// busMembers are the members that config names, as the server has them.
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
