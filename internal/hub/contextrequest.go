package hub

import (
	"context"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
)

// contextTime bounds the time for one context request.
const contextTime = 10 * time.Second

// answerContext answers a request for the context of an agent. It runs beside the owner
// goroutine, with a context.Context for each message.
func (in *requestIntake) answerContext(m bus.Msg) {
	if m.Respond == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), contextTime)
	defer cancel()
	out := message.ContextResponse{
		Type: message.TypeContextResponse, Timestamp: message.TimeText(in.now()), V: message.Version,
		Messages: []message.ContextPart{}, Tasks: []message.ContextTask{},
	}
	name, ok := in.subjects.AgentOf(m.Subject)
	out.AgentName = string(name)
	q, err := message.ParseContextRequest(m.Data)
	out.RequestID = q.RequestID
	if err == nil && !ok {
		err = fika.Errorf(fika.Invalid, "context request", "the subject %.80q names no agent", m.Subject)
	}
	if err == nil {
		err = in.intake.ReadContext(ctx, m.Asker, name, q, &out)
	}
	if err != nil {
		out.Error, out.ErrorKind = err.Error(), string(fika.KindOf(err))
	}
	data, err := out.EncodeWithin(in.bus.MaxPayload())
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		in.log.Warn("context request", "agent", name, "err", err)
	}
}
