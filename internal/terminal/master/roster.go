package master

import (
	"context"
	"time"

	"fika"
	"fika/internal/service"
	"fika/internal/text/words"
)

// roster holds what the console knows about the agents: what its tables show, and what
// has changed since it was last reported.
type roster struct {
	agents    Agents
	directory Directory
	now       func() time.Time
	known     map[fika.AgentName]Agent // as of the last look
}

const (
	// startPatience is how long an agent may take until its first sign of life, and
	// stopPatience how long until it has ended after its step.
	startPatience = 20 * time.Second
	stopPatience  = 45 * time.Second
	// finishPatience is how long an agent may take to finish its requests.
	finishPatience = 24 * time.Hour
)

// list returns the agents in their present state.
func (r *roster) list(ctx context.Context) ([]Agent, error) {
	views, err := r.agents.List(ctx, false)
	out := make([]Agent, 0, len(views))
	for _, v := range views {
		out = append(out, agentLine(v, r.now()))
	}
	return out, err
}

func agentLine(v service.AgentView, now time.Time) Agent {
	a := Agent{
		Name: v.Row.Name, Status: v.Status, Model: v.Model, PID: v.PID, Uptime: -1, Requests: v.Processed, Waiting: v.Waiting,
		Seen: v.Row.SeenAt, Trouble: words.Brief(v.Trouble, now), Why: words.Brief(v.Why, now),
	}
	if v.Alive() && !v.Since.IsZero() {
		a.Uptime = now.Sub(v.Since)
	}
	return a
}

// changeKind is how an agent has changed since the last look.
type changeKind string

// The kinds of change.
const (
	agentUnchanged changeKind = ""
	agentBroke     changeKind = "broke"     // it needs a person
	agentRestarted changeKind = "restarted" // another process works for it
	agentRecovered changeKind = "recovered" // it needed a person, and no longer does
)

// agentChange is an agent that has changed.
type agentChange struct {
	agent Agent
	kind  changeKind
}

// changes looks at the agents, and returns those that have changed since the last look.
// If they cannot be read it returns nothing: the next read of the store reports the
// error.
func (r *roster) changes(ctx context.Context) []agentChange {
	list, err := r.list(ctx)
	if err != nil {
		return nil
	}
	var out []agentChange
	for _, a := range list {
		before, known := r.known[a.Name]
		r.known[a.Name] = a
		if kind := changeOf(before, a); known && kind != agentUnchanged {
			out = append(out, agentChange{a, kind})
		}
	}
	return out
}

// changeOf returns how an agent has changed.
func changeOf(before, now Agent) changeKind {
	switch {
	case now.isBroken() && before.Status != now.Status:
		return agentBroke
	case now.isBroken() || now.PID == 0:
		return agentUnchanged
	case before.PID != 0 && before.PID != now.PID:
		return agentRestarted
	case before.isBroken():
		return agentRecovered
	}
	return agentUnchanged
}

// isBroken reports whether an agent needs a person.
func (a Agent) isBroken() bool {
	return a.Status == fika.AgentFailed || a.Status == fika.AgentUnhealthy
}

// start starts an agent and waits for its first sign of life. already reports that it was
// running before.
func (r *roster) start(ctx context.Context, name string) (pid int, already bool, err error) {
	before, err := r.directory.View(ctx, name)
	if err != nil {
		return 0, false, err
	}
	v, err := r.agents.Start(ctx, before.Row, startPatience)
	return v.PID, err == nil && v.PID == before.PID, err
}

// stop stops an agent and waits until its process is gone.
func (r *roster) stop(ctx context.Context, name string, how fika.Desired) error {
	row, err := r.directory.Find(ctx, name)
	if err != nil {
		return err
	}
	patience := stopPatience
	if how == fika.DesiredFinish {
		patience = finishPatience
	}
	_, err = r.agents.Stop(ctx, row, how, patience)
	return err
}

// reset makes an agent's next ask begin afresh, and returns the agent.
func (r *roster) reset(ctx context.Context, name string) (fika.Agent, error) {
	row, err := r.directory.Find(ctx, name)
	if err == nil {
		_, err = r.agents.Reset(ctx, row)
	}
	return row, err
}

// switchTo makes another ask conversation the active one.
func (r *roster) switchTo(ctx context.Context, name, conversation string) error {
	row, err := r.directory.Find(ctx, name)
	if err == nil {
		_, err = r.agents.Switch(ctx, row, conversation)
	}
	return err
}
