package daemon

import (
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/guard"
)

// foreignRights are the rights of requests for an agent that come from the bus.
// On a server of the hub's own they can only have been published with the
// credential that fika made for the person's programs, so they are a person's.
// On somebody else's nobody can tell who publishes: they have what a person gives
// them. Denied when the agent takes no work from people.
func foreignRights(a *app.App, own bool, to fika.AgentName) (*fika.Rights, error) {
	if err := a.MayCall(nil, to); err != nil || own {
		return nil, err
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if slices.Contains(c.NATS.RequestTools, guard.Anyone) {
		return nil, nil
	}
	return &fika.Rights{Tools: c.NATS.RequestTools, Sandbox: "best", Fixed: true}, nil
}
