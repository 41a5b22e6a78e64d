package hub

import (
	"context"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/message"
)

// contextTime bounds the reading for one context request.
const contextTime = 10 * time.Second

// answerContext answers who asks for the context of an agent. It runs beside the
// owner goroutine: the context of each message is its own.
func (h *Hub) answerContext(m bus.Msg) {
	if m.Respond == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), contextTime)
	defer cancel()
	out := message.ContextResponse{
		Type: message.TypeContextResponse, Timestamp: message.Stamp(h.opts.Now()), V: message.Version,
		Messages: []message.ContextPart{}, Tasks: []message.ContextTask{},
	}
	name, ok := h.opts.Subjects.AgentOf(m.Subject)
	out.AgentName = string(name)
	q, err := message.ParseContextRequest(m.Data)
	out.RequestID = q.RequestID
	if err == nil && !ok {
		err = fika.Errorf(fika.Invalid, "context request", "the subject %.80q names no agent", m.Subject)
	}
	if err == nil {
		err = h.opts.Context(ctx, m.Asker, name, q, &out)
	}
	if err != nil {
		out.Error, out.ErrorKind = err.Error(), string(fika.KindOf(err))
	}
	data, err := out.Fit(h.opts.Bus.MaxPayload())
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		h.opts.Log.Warn("context request", "agent", name, "err", err)
	}
}
