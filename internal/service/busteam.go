package service

import (
	"context"
	"encoding/json"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/hub"
	"fika/internal/store"
	"fika/internal/workflow"
)

// beginTeam starts the run with which a team works a request from the bus, under the id
// of the request, so that a repeat starts nothing. The next process that looks for runs
// advances it. Error kinds: Invalid for a malformed team, NotFound for an unknown agent,
// Denied for an agent that takes no work from people or from this program, Conflict if
// something else has the id.
func (b *BusIntake) beginTeam(ctx context.Context, who api.Principal, in hub.Incoming) (hub.Taken, error) {
	r := in.Request
	team, err := workflow.ParseAddress(r.Team, nil)
	if err != nil {
		return hub.Taken{}, err
	}
	l := workflow.Line{Address: team, Prompt: r.Prompt}
	if r.Combine != "" {
		if l.Combine, err = fika.ParseAgentName(strings.TrimPrefix(r.Combine, "@")); err != nil {
			return hub.Taken{}, err
		}
	}
	n := store.NewRun{ID: fika.RequestID(r.RequestID), Title: l.Title(), Taint: "bus"}
	if n.From, err = fika.ParseUsername(r.Metadata.Sender); err != nil {
		n.From = "program"
	}
	for _, name := range l.Agents() {
		if err := b.checkTeamAgent(ctx, name, in.Member); err != nil {
			return hub.Taken{}, err
		}
		if err := b.c.As(who).mayAgent(ctx, "agent.task", name); err != nil {
			return hub.Taken{}, err
		}
		if n.Rights, err = b.rights(ctx, who, in.Member, name); err != nil {
			return hub.Taken{}, err
		}
	}
	if err := b.freeForTeam(ctx, n); err != nil {
		return hub.Taken{}, err
	}
	d := l.Definition()
	bound, err := d.Bind(map[string]string{"prompt": r.Prompt}, nil)
	if err != nil {
		return hub.Taken{}, err
	}
	if n.Definition, err = d.Freeze(); err != nil {
		return hub.Taken{}, err
	}
	if n.Inputs, err = json.Marshal(bound); err != nil {
		return hub.Taken{}, fika.Wrap(fika.Invalid, "begin team", err)
	}
	run, err := b.c.store.Start(ctx, n)
	return hub.Taken{Request: fika.Request{ID: run.Request}, Ended: err == nil && run.Over()}, err
}

// checkTeamAgent returns NotFound if there is no agent of a name. It does not tell a
// member which agents there are, because the member may work with some of them only.
func (b *BusIntake) checkTeamAgent(ctx context.Context, name fika.AgentName, member string) error {
	if member == "" {
		_, err := app.FindAgent(ctx, b.c.store, string(name), b.c.app.Colleagues(""))
		return err
	}
	_, err := b.c.store.Agent(ctx, name)
	if fika.IsKind(err, fika.NotFound) {
		return noAgent(name)
	}
	return err
}

// freeForTeam returns Conflict if the id of a run belongs to something else.
func (b *BusIntake) freeForTeam(ctx context.Context, n store.NewRun) error {
	known, err := b.c.store.Request(ctx, n.ID)
	switch {
	case fika.IsKind(err, fika.NotFound):
		return nil
	case err != nil:
		return err
	case !store.StandsForRun(known.Request) || known.Payload.Prompt != n.Title:
		return fika.Errorf(fika.Conflict, "", "it asks for something else")
	}
	return nil
}
