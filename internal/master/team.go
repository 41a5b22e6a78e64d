package master

import (
	"context"

	"fika"
	"fika/internal/client"
	"fika/internal/workflow"
)

// Teams lets several agents work on one line.
type Teams interface {
	// StartTeam begins a run of a team; NotFound for an agent there is not.
	StartTeam(context.Context, workflow.Line) (client.Run, *workflow.Definition, error)
	Cancel(ctx context.Context, id fika.RequestID, reason string) (client.Run, error)
}

// sendTeam begins the work of a team. The run goes on without this console, which
// shows what comes of it as of any request.
func (m *Master) sendTeam(ctx context.Context, l workflow.Line) {
	r, _, err := m.o.Teams.StartTeam(ctx, l)
	if err != nil {
		m.showTrouble(err)
		return
	}
	e := &pendingRequest{id: r.Request, run: r.ID, agent: teamAgent, team: l.AddressText(), kind: "team", prompt: l.Prompt, from: m.o.Now()}
	m.waiting = append(m.waiting, e)
	m.keepPending()
	if !m.o.Quiet {
		m.printLine("→ Sent to %s%s", l.AddressText(), m.o.Style.Dim("  "+shortID(e.id)))
	}
	m.reviveHub(ctx, false)
}

// cancelTeam ends a run; its outcome is shown as any other.
func (m *Master) cancelTeam(ctx context.Context, e *pendingRequest) {
	if _, err := m.o.Teams.Cancel(ctx, e.run, "cancelled from the master console"); err != nil {
		m.showTrouble(err)
		return
	}
	m.readOutcomes(ctx)
}

// workerName names whoever worked at a request.
func (e *pendingRequest) workerName() string {
	switch {
	case e.team != "":
		return e.team
	case e.agent == teamAgent:
		return "the team"
	case e.agent == "":
		return "done here"
	}
	return "@" + string(e.agent)
}

// teamAgent is the agent of the requests that stand for runs.
const teamAgent = fika.WorkflowAgent
