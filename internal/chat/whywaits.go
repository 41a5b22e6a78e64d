package chat

import (
	"time"

	"fika"
	"fika/internal/api"
)

// Presence is what is known about an agent's process.
type Presence struct {
	Alive  bool       // the agent has one
	Wakes  bool       // the hub starts one if there is work
	Hub    bool       // a hub runs
	InUse  bool       // a prompt on a terminal uses its context
	Away   api.Status // why the host that it is on does not let it work; clear: it does, or is this one
	Failed string     // why the agent has been given up; empty: it has not
	// Rests is the limit that makes the agent begin nothing for a while, as in "20
	// turns per hour", and Until is the end of that; empty: it does not rest.
	Rests string
	Until time.Time
}

// WhyWaits returns what keeps an agent from beginning its work, the one best removed
// first. This is the one place that decides it, so that the queue, ask, task, send and
// the master say the same.
func WhyWaits(a fika.Agent, p Presence) api.Status {
	name := string(a.Name)
	switch {
	case a.Desired.Stopped():
		return api.Stands(api.AgentStopped, "agent", name)
	case p.Failed != "":
		return api.Stands(api.AgentFailed, "agent", name, "reason", p.Failed)
	case p.Rests != "":
		return api.Stands(api.AgentLimit, "agent", name, "limit", p.Rests).At(p.Until)
	case p.Alive:
		return api.Stands(api.AgentNext, "agent", name)
	case p.InUse:
		return api.Stands(api.AgentInUse, "agent", name)
	case !p.Away.IsClear():
		return p.Away
	case !p.Wakes:
		return api.Stands(api.AgentAbsent, "agent", name)
	case !p.Hub:
		return api.Stands(api.AgentNoHub, "agent", name)
	}
	return api.Stands(api.AgentStarting, "agent", name)
}

// goesOnAlone reports whether work that has not begun will, without anything changing.
func goesOnAlone(s api.Status) bool { return s.Code == api.AgentNext || s.Code == api.AgentStarting }
