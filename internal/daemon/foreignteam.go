package daemon

import (
	"context"
	"encoding/json"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/message"
	"fika/internal/store"
	"fika/internal/workflow"
)

// beginTeam starts the run with which a team works a request from the bus, under the id
// of the request, so that a repeat starts nothing. The next process that looks for runs
// advances it. member is the member that asked, if any, and own says that the server is
// the hub's own. Error kinds: Invalid for a malformed team, NotFound for an unknown
// agent, Denied for an agent that takes no work from people, Conflict if something else
// has the id.
func (h hubHome) beginTeam(ctx context.Context, r message.Request, member string, own bool) (store.Run, error) {
	team, err := workflow.ParseAddress(r.Team, nil)
	if err != nil {
		return store.Run{}, err
	}
	l := workflow.Line{Address: team, Prompt: r.Prompt}
	if r.Combine != "" {
		if l.Combine, err = fika.ParseAgentName(strings.TrimPrefix(r.Combine, "@")); err != nil {
			return store.Run{}, err
		}
	}
	n := store.NewRun{ID: fika.RequestID(r.RequestID), Title: l.Title(), Taint: "bus"}
	if n.From, err = fika.ParseUsername(r.Metadata.Sender); err != nil {
		n.From = "program"
	}
	for _, name := range l.Agents() {
		if err := h.checkTeamAgent(ctx, name, member); err != nil {
			return store.Run{}, err
		}
		if n.Rights, err = foreignRights(h.app, own, member, name); err != nil {
			return store.Run{}, err
		}
	}
	if err := h.freeForTeam(ctx, n); err != nil {
		return store.Run{}, err
	}
	d := l.Definition()
	bound, err := d.Bind(map[string]string{"prompt": r.Prompt}, nil)
	if err != nil {
		return store.Run{}, err
	}
	if n.Definition, err = d.Freeze(); err != nil {
		return store.Run{}, err
	}
	if n.Inputs, err = json.Marshal(bound); err != nil {
		return store.Run{}, fika.Wrap(fika.Invalid, "begin team", err)
	}
	return h.store.Start(ctx, n)
}

// checkTeamAgent returns NotFound if there is no agent of a name. It does not tell a
// member which agents there are, because the member may work with some of them only.
func (h hubHome) checkTeamAgent(ctx context.Context, name fika.AgentName, member string) error {
	if member == "" {
		_, err := app.FindAgent(ctx, h.store, string(name), h.app.Colleagues(""))
		return err
	}
	_, err := h.store.Agent(ctx, name)
	if fika.IsKind(err, fika.NotFound) {
		err = fika.Errorf(fika.NotFound, "", "no agent named %q", name)
	}
	return err
}

// freeForTeam returns Conflict if the id of a run belongs to something else.
func (h hubHome) freeForTeam(ctx context.Context, n store.NewRun) error {
	known, err := h.store.Request(ctx, n.ID)
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
