package hub

import (
	"context"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/clock"
	"fika/internal/message"
	"fika/internal/store"
)

// ingest turns what foreign publishers send into rows. A message is
// acknowledged when its row, its error response or its parking is committed;
// a store that refuses leaves it in the stream.
func (h *Hub) ingest(ctx context.Context) {
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, 30*time.Second) {
		err := h.opts.Inbound.Consume(ctx, h.take)
		if ctx.Err() != nil {
			return
		}
		h.opts.Log.Warn("ingest", "err", err)
		_ = clock.Sleep(ctx, wait)
	}
}

// take handles one message. An error means: later.
func (h *Hub) take(ctx context.Context, m bus.Msg) error {
	token, ok := h.opts.Subjects.AgentOf(m.Subject)
	name, err := fika.ParseAgentName(string(token))
	if !ok || err != nil {
		return h.park(ctx, m, "no agent can have this name", "")
	}
	r, err := message.ParseRequest(m.Data, name)
	if err != nil {
		return h.refuse(ctx, m, name, r.RequestID, err)
	}
	row, err := h.opts.Store.Agent(ctx, name)
	if fika.IsKind(err, fika.NotFound) {
		return h.refuse(ctx, m, name, r.RequestID, fika.Errorf(fika.NotFound, "", "no agent named %q", name))
	}
	if err != nil {
		return err
	}
	if err := h.opts.MayBeCalled(ctx, r.Metadata.Sender); fika.IsKind(err, fika.Denied) {
		return h.refuse(ctx, m, name, r.RequestID, fika.Wrap(fika.Denied, "metadata.sender", err))
	} else if err != nil && !fika.IsKind(err, fika.Invalid) { // what is no username is no speaker's name
		return err
	}
	accepted, err := h.opts.Store.Accept(ctx, newRequest(r, row))
	switch {
	case fika.IsKind(err, fika.Conflict, fika.Invalid, fika.NotFound, fika.Denied):
		return h.refuse(ctx, m, name, r.RequestID, err)
	case err != nil:
		return err
	}
	if accepted.Repeat && accepted.Request.State.Terminal() {
		return h.again(ctx, accepted.Request.ID)
	}
	_ = h.opts.Bus.Publish(h.opts.Subjects.Bell(name), nil)
	h.nudge()
	return nil
}

func newRequest(r message.Request, row fika.Agent) store.NewRequest {
	n := store.NewRequest{
		ID: fika.RequestID(r.RequestID), Kind: fika.AskRequest, Origin: fika.Queued, Agent: row.ID,
		Conversation: fika.ConversationName(r.ConversationID), Chain: fika.RequestID(r.ChainRoot), Depth: r.Depth,
		Payload: fika.Payload{Prompt: r.Prompt, Writer: fika.ByHuman, Sender: r.Metadata.Sender, History: r.Context},
	}
	if r.Type == message.TypeTask {
		n.Kind, n.Conversation, n.Payload.History = fika.TaskRequest, "", nil
	}
	if u, err := fika.ParseUsername(r.Metadata.Sender); err == nil {
		n.Payload.From = u
	}
	return n
}

// again publishes the stored outcome of finished work for whoever repeats it.
func (h *Hub) again(ctx context.Context, id fika.RequestID) error {
	info, err := h.opts.Store.Request(ctx, id)
	if err != nil {
		return err
	}
	data, err := json.Marshal(message.ResponseOf(info.Request, info.AgentName, info.ConversationName))
	if err != nil {
		return err
	}
	return h.opts.Bus.Publish(h.opts.Subjects.Response(info.AgentName), data)
}

// refuse answers with an error response where a requestId could be read, and
// parks what has none.
func (h *Hub) refuse(ctx context.Context, m bus.Msg, name fika.AgentName, id string, cause error) error {
	if id == "" {
		return h.park(ctx, m, cause.Error(), name)
	}
	now := h.opts.Now()
	data, err := json.Marshal(message.Response{
		Type: message.TypeResponse, RequestID: id, AgentName: string(name), Status: "failed", Error: cause.Error(),
		Result: message.Result{ToolCalls: []fika.ToolUsed{}}, Timestamp: message.Stamp(now), V: message.Version,
	})
	if err != nil {
		return err
	}
	if err := h.opts.Bus.Publish(h.opts.Subjects.Response(name), data); err != nil {
		return err
	}
	return h.park(ctx, m, cause.Error(), name)
}

const deadBody = 4 << 10

// park keeps a message that could not be understood, and tells of it.
func (h *Hub) park(ctx context.Context, m bus.Msg, reason string, _ fika.AgentName) error {
	if err := h.opts.Store.Park(ctx, m.Subject, m.Data, reason); err != nil {
		return err
	}
	h.opts.Log.Warn("not understood", "subject", m.Subject, "reason", reason)
	body := string(m.Data[:min(len(m.Data), deadBody)])
	data, err := json.Marshal(message.Dead{Subject: m.Subject, Reason: reason, Body: body, Timestamp: message.Stamp(h.opts.Now())})
	if err != nil {
		return nil
	}
	_ = h.opts.Bus.Publish(h.opts.Subjects.Dead(), data)
	return nil
}

// canary publishes now and then; two failures in a row restart the embedded
// server, because a stream that met a full disk stays wedged until then.
func (h *Hub) canary(ctx context.Context) {
	every := time.NewTicker(h.opts.Canary)
	defer every.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		err := h.opts.Inbound.Probe(ctx, h.opts.Canary/2)
		if err == nil || ctx.Err() != nil {
			failures = 0
			continue
		}
		failures++
		h.opts.Log.Warn("canary", "err", err, "failures", failures)
		if failures >= 2 && h.opts.Heal != nil {
			failures = 0
			if err := h.opts.Heal(ctx); err != nil {
				h.opts.Log.Error("the bus could not be restarted", "err", err)
			}
		}
	}
}
