package hub

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/report/outcome"
	"fika/internal/system/sleep"
)

// Intake decides about what other programs ask over the bus: see package service.
type Intake interface {
	// Take commits what a program asks and wakes who is asked. A repeat returns what has
	// become of the request. The kinds Invalid, NotFound, Denied and Conflict refuse the
	// message for good, Limit refuses it for now; with any other error it was not
	// decided about, and is to be taken again. It is called from one goroutine.
	Take(context.Context, Incoming) (Taken, error)
	// Members returns the names of the members of the bus now.
	Members() []string
	// Sender returns who has sent a request; a member goes by its name.
	Sender(context.Context, fika.RequestID) (string, error)
	// ReadContext reads what an agent has said and done into the response, as far as
	// the reader may see it; reader is empty for a program of the person.
	ReadContext(ctx context.Context, reader, name fika.AgentName, q message.ContextRequest, out *message.ContextResponse) error
}

// Incoming is a well-formed request of another program.
type Incoming struct {
	Member  string         // the member of the bus that sent it, as the server knows; empty: none
	Agent   fika.AgentName // or [message.TeamAgent]
	Request message.Request
	Bytes   int // of the message
}

// Taken is a request that has been committed.
type Taken struct {
	Request      fika.Request // of a team its ID alone
	Conversation fika.Conversation
	Ended        bool     // it had ended before it was repeated
	Waits        string   // what keeps the agent from it, and what to do; empty: nothing
	Code         api.Code // the same
}

// requestIntake receives what other programs send, and answers them. What is to be done
// with it is for [Intake] to say.
type requestIntake struct {
	intake   Intake
	store    Messages
	bus      bus.Bus
	subjects bus.Subjects
	inbound  bus.Inbound
	heal     func(context.Context) error
	canary   time.Duration
	tickSoon func() // asks the hub for a look
	sharing  Sharing
	log      *slog.Logger
	now      func() time.Time
}

func newIntakeOf(h *Hub) *requestIntake {
	o := &h.opts
	return &requestIntake{
		intake: o.Intake, store: o.Store.Messages, bus: o.Bus, subjects: o.Subjects, inbound: o.Inbound, heal: o.Heal,
		canary: o.Canary, tickSoon: h.tickSoon, log: o.Log, now: o.Now, sharing: o.Sharing,
	}
}

// consumeRequests turns the messages of foreign publishers into rows. A message is
// acknowledged once its row, its error response or its parking is committed. If the
// store fails, the message stays in the stream. Of several hubs one reads at a time, so
// that each agent gets what a publisher sends it in its order.
func (in *requestIntake) consumeRequests(ctx context.Context) {
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, 30*time.Second) {
		err := WhileHolding(ctx, in.sharing, DutyRequests, func(ctx context.Context) error {
			return in.inbound.Consume(ctx, in.handleRequest)
		})
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			wait = time.Second / 2
			continue
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
	taken, err := in.intake.Take(ctx, Incoming{Member: m.Member, Agent: name, Request: r, Bytes: len(m.Data)})
	switch {
	case fika.IsKind(err, fika.Conflict, fika.Invalid, fika.NotFound, fika.Denied):
		return in.refuseMessage(ctx, m, name, r.RequestID, err)
	case fika.IsKind(err, fika.Limit): // not parked: it may be a flood
		_, err = in.answerRefused(ctx, m, name, r.RequestID, err)
		return err
	case err != nil:
		return err
	case taken.Ended:
		return in.announceAgain(ctx, taken.Request.ID)
	}
	in.tickSoon()
	in.tellWaiting(name, taken)
	return nil
}

// tellWaiting publishes that a request waits if something keeps its agent from it,
// because a foreign program cannot look at the store. It is a courtesy: the row waits,
// whether or not anybody hears it.
func (in *requestIntake) tellWaiting(agent fika.AgentName, t Taken) {
	if t.Waits == "" {
		return
	}
	data, err := json.Marshal(message.Status{
		Type: message.TypeStatus, RequestID: string(t.Request.ID), AgentName: string(agent), Status: message.StatusWaiting,
		Data: message.StatusData{Kind: string(t.Request.Kind), Message: t.Waits, Code: string(t.Code)}, Timestamp: message.TimeText(in.now()), V: message.Version,
		Conversation: string(t.Conversation.Kind), ConversationID: string(t.Conversation.Name),
	})
	if err == nil {
		_ = in.bus.Publish(in.subjects.Status(agent), data)
	}
}

// announceAgain publishes the stored outcome of finished work again, for a sender that
// repeats its request.
func (in *requestIntake) announceAgain(ctx context.Context, id fika.RequestID) error {
	info, err := in.store.Announceable(ctx, id)
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
