package daemon

import (
	"context"
	"slices"

	"fika"
	"fika/internal/message"
	"fika/internal/reading"
	"fika/internal/store"
)

// readContext answers a context request with what the reader may see, by the rules of
// the tool read_context.
func (h hubHome) readContext(ctx context.Context, reader reading.Reader, name fika.AgentName, q message.ContextRequest, out *message.ContextResponse) error {
	archive := h.app.Archive(h.store)
	row, err := h.store.Agent(ctx, name)
	if err != nil {
		return err
	}
	if q.Find != "" {
		found, err := archive.Search(ctx, reader, q.Find, store.ConversationFilter{Agent: row.ID, Limit: q.Last})
		for _, x := range slices.Backward(found) {
			out.Messages = append(out.Messages, partOf(x.Entry, x.ConversationName))
		}
		return err
	}
	if err := archive.CheckReader(reader, name); err != nil {
		return err
	}
	if row.ActiveAsk != "" {
		conv, err := h.store.ConversationByID(ctx, row.ActiveAsk)
		if err != nil {
			return err
		}
		entries, err := h.store.Entries(ctx, store.EntryQuery{Conversation: conv.ID, Types: []fika.EntryType{fika.Message}, Last: q.Last})
		if err != nil {
			return err
		}
		for _, e := range entries {
			out.Messages = append(out.Messages, partOf(e, conv.Name))
		}
	}
	tasks, err := archive.Tasks(ctx, reader, row, q.Last)
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, message.ContextTask{
			RequestID: string(t.ID), From: t.From, Prompt: t.Prompt, Content: t.Result,
			ConversationID: string(t.Conversation), Timestamp: message.TimeText(t.At),
		})
	}
	return err
}

func partOf(e fika.Entry, in fika.ConversationName) message.ContextPart {
	return message.ContextPart{From: e.From, Content: e.Content, ConversationID: string(in), Timestamp: message.TimeText(e.At)}
}
