package outcome

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/message"
	"fika/internal/store"
)

// Announcements knows what is not published yet.
type Announcements interface {
	Unannounced(ctx context.Context, agent fika.AgentID, limit int) ([]store.RequestInfo, error)
	MarkAnnounced(context.Context, ...fika.RequestID) error
}

// Batch is how many outcomes are published at a time.
const Batch = 100

// flushTimeout bounds how long the caller waits for the server; what was not
// confirmed is announced again.
const flushTimeout = 2 * time.Second

// Announce publishes the unpublished outcomes of an agent (of all agents when
// id is empty) and notes each once the server has it. While the bus is away
// nothing is noted, so that they are announced later; callers do not call it
// then. leave, if not nil, says which outcomes are somebody else's to announce.
func Announce(ctx context.Context, s Announcements, b bus.Bus, subjects bus.Subjects, id fika.AgentID, leave func(store.RequestInfo) bool) {
	NotePublished(ctx, s, Publish(ctx, s, b, subjects, id, leave))
}

// Publish is the first half of [Announce]: it returns what the server has, and
// leaves the noting to the caller.
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

// NotePublished is the second half: it notes outcomes as published. One that is not
// noted is announced again.
func NotePublished(ctx context.Context, s Announcements, sent []fika.RequestID) {
	if len(sent) > 0 {
		_ = s.MarkAnnounced(ctx, sent...)
	}
}

// ResponseBody is the body that announces an outcome. One that would be larger
// than limit bytes carries the beginning of the answer and says where the
// whole is.
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
	note := "\n… (shortened; the whole answer: fika request show " + string(r.ID) + ")"
	body.Result.Content = beginning(body.Result.Content, limit/8) + note // a character may take six bytes in JSON
	data, _ = json.Marshal(body)
	return data
}

// beginning cuts a text to at most n bytes, between characters.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
