package service

import (
	"context"
	"slices"

	"fika"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/store"
)

// ReadContext reads what an agent has said and done into out, as far as an agent that
// asks over the bus may see it, by the rules of the tool read_context. reader is empty
// for a program of the person, who sees everything.
func (b *BusIntake) ReadContext(ctx context.Context, reader, name fika.AgentName, q message.ContextRequest, out *message.ContextResponse) error {
	c := b.c
	if reader != "" {
		c = c.As(api.Principal{Kind: api.Agent, Name: string(reader), Door: api.DoorBus})
	}
	v := c.sight()
	row, err := c.store.Agent(ctx, name)
	if err != nil {
		return err
	}
	if q.Find != "" {
		found, err := v.archive.Search(ctx, v.reader(), q.Find, store.ConversationFilter{Agent: row.ID, Limit: q.Last})
		for _, x := range slices.Backward(found) {
			out.Messages = append(out.Messages, contextPart(x.Entry, x.ConversationName))
		}
		return err
	}
	if err := v.archive.CheckReader(ctx, v.reader(), name); err != nil {
		return err
	}
	if row.ActiveAsk != "" {
		conv, err := c.store.ConversationByID(ctx, row.ActiveAsk)
		if err != nil {
			return err
		}
		entries, err := c.store.Entries(ctx, store.EntryQuery{Conversation: conv.ID, Types: []fika.EntryType{fika.Message}, Last: q.Last})
		if err != nil {
			return err
		}
		for _, e := range entries {
			out.Messages = append(out.Messages, contextPart(e, conv.Name))
		}
	}
	tasks, err := v.archive.Tasks(ctx, v.reader(), row, q.Last)
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, message.ContextTask{
			RequestID: string(t.ID), From: t.From, Prompt: t.Prompt, Content: t.Result,
			ConversationID: string(t.Conversation), Timestamp: message.TimeText(t.At),
		})
	}
	return err
}

func contextPart(e fika.Entry, in fika.ConversationName) message.ContextPart {
	return message.ContextPart{From: e.From, Content: e.Content, ConversationID: string(in), Timestamp: message.TimeText(e.At)}
}
