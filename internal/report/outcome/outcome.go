package outcome

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// Announcements is the store's record of outcomes that are not published yet.
type Announcements interface {
	Unannounced(ctx context.Context, agent fika.AgentID, limit int) ([]store.RequestInfo, error)
	MarkAnnounced(context.Context, ...fika.RequestID) error
}

// Batch is the most outcomes published at a time.
const Batch = 100

// flushTimeout is how long to wait for the server's confirmation; without it the
// outcomes are announced again.
const flushTimeout = 2 * time.Second

// Announce publishes the unpublished outcomes of an agent (of all agents when id is
// empty) and records each once the server has it. While the bus is away nothing is
// recorded, so that the outcomes are announced later; callers do not call it then.
// leave, if not nil, reports whether another process is to announce an outcome.
func Announce(ctx context.Context, s Announcements, b bus.Bus, subjects bus.Subjects, id fika.AgentID, leave func(store.RequestInfo) bool) {
	NotePublished(ctx, s, Publish(ctx, s, b, subjects, id, leave))
}

// Publish is the first half of [Announce]: it returns the outcomes that the server
// has, and leaves recording them to the caller.
func Publish(ctx context.Context, s Announcements, b bus.Bus, subjects bus.Subjects, id fika.AgentID, leave func(store.RequestInfo) bool) []fika.RequestID {
	list, err := s.Unannounced(ctx, id, Batch)
	if err != nil || len(list) == 0 {
		return nil
	}
	var sent []fika.RequestID
	for _, r := range list {
		if leave != nil && leave(r) {
			continue
		}
		if b.Publish(subjects.Response(r.AskedName()), ResponseBody(r, b.MaxPayload())) != nil {
			break
		}
		sent = append(sent, r.ID)
	}
	if len(sent) == 0 {
		return nil
	}
	flushing, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if b.Flush(flushing) != nil {
		return nil
	}
	return sent
}

// NotePublished is the second half of [Announce]: it records outcomes as published. An
// outcome that is not recorded is announced again.
func NotePublished(ctx context.Context, s Announcements, sent []fika.RequestID) {
	if len(sent) > 0 {
		_ = s.MarkAnnounced(ctx, sent...)
	}
}

// ResponseBody returns the body that announces an outcome. A body that would exceed
// limit bytes carries no tool calls and only the beginning of the answer, and says
// where the whole answer is.
func ResponseBody(r store.RequestInfo, limit int) []byte {
	body := message.ResponseOf(r.Request, r.AskedName(), r.ConversationName)
	if r.AddressedName != "" {
		body.WorkedBy = string(r.AgentName)
	}
	data, err := json.Marshal(body)
	if err != nil || len(data) <= limit {
		return data // marshalling plain values does not fail
	}
	body.Result.ToolCalls = []fika.ToolUsed{}
	body.Error = beginning(body.Error, 2000)
	note := "\n… (shortened; the whole answer: " + hint.RequestShow.With(r.ID) + ")"
	body.Result.Content = beginning(body.Result.Content, limit/8) + note // a character may take six bytes in JSON
	data, _ = json.Marshal(body)
	return data
}

// beginning cuts s to at most n bytes without splitting a character.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
