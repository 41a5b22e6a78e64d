package master

import (
	"context"
	"time"

	"fika"
	"fika/internal/client"
)

// roster is the agents as the console knows them: what its tables show of them, and
// what of that has changed since it was last told.
type roster struct {
	agents    Agents
	directory Directory
	now       func() time.Time
	known     map[fika.AgentName]Agent // as they were when they were last looked at
}

const (
	// startPatience is how long an agent may take to give a sign of life, and
	// stopPatience how long one to end after its step.
	startPatience = 20 * time.Second
	stopPatience  = 45 * time.Second
	// finishPatience is how long one that is to finish its requests may take.
	finishPatience = 24 * time.Hour
)

// list gives the agents as they are.
func (r *roster) list(ctx context.Context) ([]Agent, error) {
	views, err := r.agents.List(ctx, false)
	out := make([]Agent, 0, len(views))
	for _, v := range views {
		out = append(out, agentLine(v, r.now()))
	}
	return out, err
}

func agentLine(v client.AgentView, now time.Time) Agent {
	a := Agent{
		Name: v.Row.Name, Status: v.Status, Model: v.Model, PID: v.PID, Uptime: -1, Requests: v.Processed, Waiting: v.Waiting,
		Seen: v.Row.SeenAt, Trouble: v.Trouble, Why: v.Why,
	}
	if v.Alive() && !v.Since.IsZero() {
		a.Uptime = now.Sub(v.Since)
	}
	return a
}

// changeKind is what has become of an agent since the last look.
type changeKind string

// What may have become of an agent.
const (
	agentUnchanged changeKind = ""
	agentBroke     changeKind = "broke"     // it needs a person
	agentRestarted changeKind = "restarted" // another process works for it
	agentRecovered changeKind = "recovered" // it needed a person, and does no more
)

// agentChange is an agent that is not as it was.
type agentChange struct {
	agent Agent
	kind  changeKind
}

// changes looks at the agents, and gives those that are not as they were at the last
// look. What cannot be read is told by the next look at the store.
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

// changeOf says what has become of an agent.
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

// start starts an agent and waits for its first sign of life. already reports that
// it ran before.
func (r *roster) start(ctx context.Context, name string) (pid int, already bool, err error) {
	before, err := r.directory.View(ctx, name)
	if err != nil {
		return 0, false, err
	}
	v, err := r.agents.Start(ctx, before.Row, startPatience)
	return v.PID, err == nil && v.PID == before.PID, err
}

// stop stops an agent and waits until its process has gone.
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

// reset lets an agent's next ask begin afresh, and gives the agent.
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
