package hub

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/message"
	"fika/internal/outcome"
	"fika/internal/sleep"
	"fika/internal/store"
)

// requestIntake takes in what other programs send, and answers them.
type requestIntake struct {
	store       Intake
	directory   Directory
	bus         bus.Bus
	subjects    bus.Subjects
	inbound     bus.Inbound
	heal        func(context.Context) error
	canary      time.Duration
	mayBeCalled func(context.Context, string) error
	foreign     func(string, fika.AgentName) (*fika.Rights, error)
	team        func(context.Context, string, message.Request) (store.Run, error)
	whyWaiting  func(context.Context, fika.Agent) string
	readContext func(ctx context.Context, reader, name fika.AgentName, q message.ContextRequest, out *message.ContextResponse) error
	tickSoon    func() // asks the hub for a look
	load        *memberLoad
	log         *slog.Logger
	now         func() time.Time
}

func newIntakeOf(h *Hub) *requestIntake {
	o := &h.opts
	return &requestIntake{
		store: o.Store.Intake, directory: o.Store.Directory, bus: o.Bus, subjects: o.Subjects, inbound: o.Inbound, heal: o.Heal,
		canary: o.Canary, mayBeCalled: o.MayBeCalled, foreign: o.Foreign, team: o.Team, whyWaiting: o.WhyWaiting, readContext: o.Context,
		tickSoon: h.tickSoon, log: o.Log, now: o.Now,
		load: &memberLoad{store: o.Store.Intake, log: o.Log, now: o.Now, open: map[string]map[fika.RequestID]int{}, looked: map[string]time.Time{}},
	}
}

// consumeRequests turns the messages of foreign publishers into rows. A message is
// acknowledged once its row, its error response or its parking is committed. If the
// store fails, the message stays in the stream.
func (in *requestIntake) consumeRequests(ctx context.Context) {
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, 30*time.Second) {
		err := in.inbound.Consume(ctx, in.handleRequest)
		if ctx.Err() != nil {
			return
		}
		in.log.Warn("ingest", "err", err)
		_ = sleep.For(ctx, wait)
	}
}

// handleRequest turns one message into a row, an answer, or a dead letter. An error
// means that the message must be delivered again.
func (in *requestIntake) handleRequest(ctx context.Context, m bus.Msg) error {
	if m.Lost != nil {
		return in.tellLost(ctx, m)
	}
	token, ok := in.subjects.AgentOf(m.Subject)
	name, err := fika.ParseAddressee(string(token))
	if !ok || err != nil {
		return in.parkMessage(ctx, m, "no agent can have this name")
	}
	r, err := message.ParseRequest(m.Data, name)
	if err != nil {
		return in.refuseMessage(ctx, m, name, r.RequestID, err)
	}
	if m.Member != "" {
		r.Metadata.Sender = m.Member // overrides what the message says
	} else if err := in.mayBeCalled(ctx, r.Metadata.Sender); fika.IsKind(err, fika.Denied) {
		return in.refuseMessage(ctx, m, name, r.RequestID, fika.Wrap(fika.Denied, "metadata.sender", err))
	} else if err != nil && !fika.IsKind(err, fika.Invalid) { // a malformed username cannot be a speaker's name
		return err
	}
	switch err := in.load.admit(ctx, m.Member, fika.RequestID(r.RequestID), len(m.Data)); {
	case fika.IsKind(err, fika.Limit): // not parked: it is a flood
		_, err = in.answerRefused(ctx, m, name, r.RequestID, err)
		return err
	case err != nil:
		return err
	}
	if name == message.TeamAgent {
		return in.beginTeam(ctx, m, r)
	}
	row, err := in.directory.Agent(ctx, name)
	if fika.IsKind(err, fika.NotFound) {
		return in.refuseMessage(ctx, m, name, r.RequestID, fika.Errorf(fika.NotFound, "", "no agent named %q", name))
	}
	if err != nil {
		return err
	}
	accepted, err := in.acceptRequest(ctx, m.Member, r, row)
	switch {
	case fika.IsKind(err, fika.Conflict, fika.Invalid, fika.NotFound, fika.Denied):
		return in.refuseMessage(ctx, m, name, r.RequestID, err)
	case err != nil:
		return err
	}
	in.load.admitted(m.Member, accepted.Request.ID, len(m.Data))
	if accepted.Repeat && accepted.Request.State.Terminal() {
		return in.announceAgain(ctx, accepted.Request.ID)
	}
	_ = in.bus.Publish(in.subjects.Bell(name), nil)
	in.tickSoon()
	return in.tellWaiting(ctx, row, accepted)
}

// beginTeam starts the run of a team.
func (in *requestIntake) beginTeam(ctx context.Context, m bus.Msg, r message.Request) error {
	if in.team == nil {
		return in.refuseMessage(ctx, m, message.TeamAgent, r.RequestID, fika.Errorf(fika.NotFound, "", "no teams work here"))
	}
	run, err := in.team(ctx, m.Member, r)
	switch {
	case fika.IsKind(err, fika.Conflict, fika.Invalid, fika.NotFound, fika.Denied):
		return in.refuseMessage(ctx, m, message.TeamAgent, r.RequestID, err)
	case err != nil:
		return err
	}
	in.load.admitted(m.Member, run.Request, len(m.Data))
	if run.Over() {
		return in.announceAgain(ctx, run.Request)
	}
	in.tickSoon()
	return nil
}

// acceptRequest commits the row of a request. member is the member that sent it, if
// any: what it asks an agent is said in conversations of its own, where it reads nothing
// that a person has said and nothing that it says reaches a person's turns.
func (in *requestIntake) acceptRequest(ctx context.Context, member string, r message.Request, row fika.Agent) (store.Accepted, error) {
	rights, err := in.foreign(member, row.Name)
	if err != nil {
		return store.Accepted{}, err
	}
	n := store.NewRequest{
		ID: fika.RequestID(r.RequestID), Kind: fika.AskRequest, Origin: fika.Queued, Agent: row.ID,
		Chain: fika.RequestID(r.ChainRoot), Depth: r.Depth, Rights: rights, Taint: "bus",
		Payload: fika.Payload{Prompt: r.Prompt, Writer: fika.ByHuman, Sender: r.Metadata.Sender, History: r.Context},
	}
	if u, err := fika.ParseUsername(r.Metadata.Sender); err == nil {
		n.Payload.From = u
	}
	if r.Type == message.TypeTask {
		n.Kind, n.Payload.History = fika.TaskRequest, nil
	} else if member != "" {
		id, err := fika.ConversationName(""), error(nil)
		if r.ConversationID != "" {
			if id, err = fika.ParseConversationName(r.ConversationID); err != nil {
				return store.Accepted{}, err
			}
		}
		n.Conversation = message.MemberConversation(row.Name, member, id)
	} else if r.ConversationID != "" {
		var err error
		if n.Conversation, err = in.foreignConversation(ctx, r.ConversationID, row); err != nil {
			return store.Accepted{}, err
		}
	}
	return in.store.Accept(ctx, n)
}

// foreignConversation returns the conversation that another program means by id when it
// asks the agent of row: one of the agent's own ask conversations that has this name,
// else the one that belongs to this id and this agent, so that two agents may be asked
// under the same id. It returns Conflict if the name is that of a task, or of a
// conversation that belongs to another agent.
func (in *requestIntake) foreignConversation(ctx context.Context, id string, row fika.Agent) (fika.ConversationName, error) {
	name, err := fika.ParseConversationName(id)
	if err != nil {
		return "", err
	}
	scoped := message.ScopedConversation(row.Name, name)
	c, err := in.store.Conversation(ctx, name)
	switch {
	case fika.IsKind(err, fika.NotFound):
		return scoped, nil
	case err != nil:
		return "", err
	case c.Kind == fika.Task:
		return "", fika.Errorf(fika.Conflict, "conversationId", "%q is a task, which is one request and its answer: leave conversationId away to go on with what %s was asked last, or send a task_request", name, row.Name)
	case c.Kind == fika.Ask && c.Agent == row.ID:
		return name, nil
	case c.Kind == fika.Ask && message.ScopedConversation(in.agentName(ctx, c.Agent), name) == name:
		return "", fika.Errorf(fika.Conflict, "conversationId", "the conversation %q is not one of %s's own", name, row.Name)
	}
	return scoped, nil // a chat, or another agent's conversation of that name
}

// agentName returns the name of an agent by its id, or "" if the agent is gone.
func (in *requestIntake) agentName(ctx context.Context, id fika.AgentID) fika.AgentName {
	rows, err := in.directory.ListAgents(ctx)
	if err != nil {
		return ""
	}
	for _, row := range rows {
		if row.ID == id {
			return row.Name
		}
	}
	return ""
}

// tellWaiting publishes that a request waits if something keeps its agent from it,
// because a foreign program cannot look at the store.
func (in *requestIntake) tellWaiting(ctx context.Context, row fika.Agent, accepted store.Accepted) error {
	if in.whyWaiting == nil {
		return nil
	}
	why := in.whyWaiting(ctx, row)
	if why == "" {
		return nil
	}
	data, err := json.Marshal(message.Status{
		Type: message.TypeStatus, RequestID: string(accepted.Request.ID), AgentName: string(row.Name), Status: message.StatusWaiting,
		Data: message.StatusData{Kind: string(accepted.Request.Kind), Message: why}, Timestamp: message.TimeText(in.now()), V: message.Version,
		Conversation: string(accepted.Conversation.Kind), ConversationID: string(accepted.Conversation.Name),
	})
	if err == nil {
		_ = in.bus.Publish(in.subjects.Status(row.Name), data) // a courtesy: the row waits, whether or not anybody hears it
	}
	return nil
}

// announceAgain publishes the stored outcome of finished work again, for a sender that
// repeats its request.
func (in *requestIntake) announceAgain(ctx context.Context, id fika.RequestID) error {
	info, err := in.store.Request(ctx, id)
	if err != nil {
		return err
	}
	return in.bus.Publish(in.subjects.Response(info.AskedName()), outcome.ResponseBody(info, in.bus.MaxPayload()))
}

// refuseMessage answers a refused message, if its requestId could be read, and parks it.
func (in *requestIntake) refuseMessage(ctx context.Context, m bus.Msg, name fika.AgentName, id string, cause error) error {
	if id != "" {
		var err error
		if cause, err = in.answerRefused(ctx, m, name, id, cause); err != nil {
			return err
		}
	}
	return in.parkMessage(ctx, m, cause.Error())
}

// answerRefused answers a refused message, and returns the reason as it was said. The
// answer ends the request of that id with status failed. If an earlier request already
// has the id, that request goes on, so the answer is a rejection, which is no response to
// it.
func (in *requestIntake) answerRefused(ctx context.Context, m bus.Msg, name fika.AgentName, id string, cause error) (said, err error) {
	answer := message.Response{
		Type: message.TypeResponse, RequestID: id, AgentName: string(name), Status: "failed", Error: cause.Error(),
		Result: message.Result{ToolCalls: []fika.ToolUsed{}}, Timestamp: message.TimeText(in.now()), V: message.Version,
	}
	known, err := in.store.Request(ctx, fika.RequestID(id))
	switch {
	case err == nil:
		cause = fika.Errorf(fika.Conflict, "", "requestId %s is taken by another request, of @%s, which is %s and is not changed by this one; choose another id (%v)",
			id, known.AgentName, known.State, cause)
		answer.Type, answer.Status, answer.Error = message.TypeRejected, message.TypeRejected, cause.Error()
	case !fika.IsKind(err, fika.NotFound):
		return nil, err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	if err := in.bus.Publish(in.subjects.Response(name), data); err != nil {
		return nil, err
	}
	if m.Member != "" { // there is no row yet that says whose it is
		_ = in.bus.Publish(in.subjects.MemberResponse(m.Member, name), data)
	}
	return cause, nil
}

const deadBody = 4 << 10

// parkMessage stores a refused message, and publishes that it was refused.
func (in *requestIntake) parkMessage(ctx context.Context, m bus.Msg, reason string) error {
	if err := in.store.ParkMessage(ctx, m.Subject, m.Data, reason); err != nil {
		return err
	}
	in.log.Warn("not understood", "subject", m.Subject, "reason", reason)
	body := string(m.Data[:min(len(m.Data), deadBody)])
	data, err := json.Marshal(message.Dead{Subject: m.Subject, Reason: reason, Body: body, Timestamp: message.TimeText(in.now())})
	if err != nil {
		return nil
	}
	_ = in.bus.Publish(in.subjects.Dead(), data)
	return nil
}

// probeServer publishes a probe at intervals. Two failures in a row restart the
// embedded server, because a stream that met a full disk stays wedged until then.
func (in *requestIntake) probeServer(ctx context.Context) {
	every := time.NewTicker(in.canary)
	defer every.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		err := in.inbound.Probe(ctx, in.canary/2)
		if err == nil || ctx.Err() != nil {
			failures = 0
			continue
		}
		failures++
		in.log.Warn("canary", "err", err, "failures", failures)
		if failures >= 2 && in.heal != nil {
			failures = 0
			if err := in.heal(ctx); err != nil {
				in.log.Error("the bus could not be restarted", "err", err)
			}
		}
	}
}
