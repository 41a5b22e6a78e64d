package master

import (
	"context"
	"time"

	"fika"
	"fika/internal/client"
)

const (
	// startPatience is how long an agent may take to give a sign of life, and
	// stopPatience how long one to end after its step.
	startPatience = 20 * time.Second
	stopPatience  = 45 * time.Second
	// finishPatience is how long one that is to finish its requests may take.
	finishPatience = 24 * time.Hour
)

// list gives the agents as they are.
func (m *Master) list(ctx context.Context) ([]Agent, error) {
	views, err := m.o.Agents.List(ctx, false)
	out := make([]Agent, 0, len(views))
	for _, v := range views {
		out = append(out, agentLine(v, m.o.Now()))
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

// startAgent starts an agent and waits for its first sign of life. already
// reports that it ran before.
func (m *Master) startAgent(ctx context.Context, name string) (pid int, already bool, err error) {
	before, err := m.o.Directory.View(ctx, name)
	if err != nil {
		return 0, false, err
	}
	v, err := m.o.Agents.Start(ctx, before.Row, startPatience)
	return v.PID, err == nil && v.PID == before.PID, err
}

func (m *Master) stopAgent(ctx context.Context, name string, how fika.Desired) error {
	row, err := m.o.Directory.Find(ctx, name)
	if err != nil {
		return err
	}
	patience := stopPatience
	if how == fika.DesiredFinish {
		patience = finishPatience
	}
	_, err = m.o.Agents.Stop(ctx, row, how, patience)
	return err
}

// switchTo makes another ask conversation the active one.
func (m *Master) switchTo(ctx context.Context, name, conversation string) error {
	row, err := m.o.Directory.Find(ctx, name)
	if err == nil {
		_, err = m.o.Agents.Switch(ctx, row, conversation)
	}
	return err
}
