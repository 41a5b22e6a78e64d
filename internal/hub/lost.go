package hub

import (
	"context"
	"encoding/json"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
)

// tellLost answers the sender of a request that was accepted and then lost, if the
// sender still listens. It returns Conflict if the request has a row and so was not
// lost.
func (in *requestIntake) tellLost(ctx context.Context, m bus.Msg) error {
	name, _ := in.subjects.AgentOf(m.Subject)
	id := m.Lost.ID
	if id != "" {
		known, err := in.store.Request(ctx, fika.RequestID(id))
		if err == nil {
			return fika.Errorf(fika.Conflict, "lost request", "%s is %s", id, known.State)
		}
		if !fika.IsKind(err, fika.NotFound) {
			return err
		}
	}
	in.log.Error("a request of another program was accepted and is lost: the stream of requests was damaged", "request", id, "agent", name, "accepted", m.Lost.Accepted)
	if id == "" {
		return nil // nobody could tell which request is meant
	}
	data, err := json.Marshal(message.Response{
		Type: message.TypeResponse, RequestID: id, AgentName: string(name), Status: "failed",
		Error:  "this request was accepted and then lost, because the files of the stream of requests were damaged; it was not worked on: send it again, the same requestId is safe",
		Result: message.Result{ToolCalls: []fika.ToolUsed{}}, Timestamp: message.TimeText(in.now()), V: message.Version,
	})
	if err != nil {
		return fika.Wrap(fika.Failed, "lost request", err)
	}
	if err := in.bus.Publish(in.subjects.Response(name), data); err != nil {
		return err
	}
	if m.Member != "" {
		_ = in.bus.Publish(in.subjects.MemberResponse(m.Member, name), data)
	}
	return in.bus.Flush(ctx)
}
