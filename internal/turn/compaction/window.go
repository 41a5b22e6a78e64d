package compaction

import (
	"context"
	"slices"

	"fika"
	"fika/internal/store"
)

// said lists the types of entry that a model sees.
var said = []fika.EntryType{fika.Message, fika.ToolCall, fika.ToolResult}

// History holds what is in the window of a conversation.
type History struct {
	Units []Unit
	// UpTo is that of the last compaction: entries that it archived stay archived.
	UpTo int64
	// Taint names the text from outside that its summary contains; empty: none.
	Taint string
	// Summary is what the last compaction left.
	Summary string
	// View is the agent whose window of a chat this is; empty outside chats.
	View fika.AgentID
}

// newestKept is how many of the newest units of a chat stay when a person has it compacted,
// as far as they take no more than that part of the window.
const (
	newestKept = 4
	newestPart = 8
)

// Keep keeps the units with an entry that must stay, and the newest ones.
func (c *Compactor) Keep(h History, must func(fika.Entry) bool) {
	room := c.cfg.Window / newestPart
	for i := len(h.Units) - 1; i >= 0; i-- {
		u := &h.Units[i]
		room -= u.Tokens
		newest := len(h.Units) - i
		u.Keep = u.Keep || newest <= newestKept && room >= 0 || slices.ContainsFunc(u.Entries, must)
	}
}

// historyOf returns the history that a window consists of.
func historyOf(v view, cut *fika.Entry, units []Unit) History {
	h := History{Units: units}
	if v.conv.Kind == fika.Chat {
		h.View = v.agent.ID
	}
	if cut != nil {
		h.UpTo, h.Taint, h.Summary = cut.Meta.UpTo, cut.Meta.Taint.From, cut.Meta.Summary
	}
	return h
}

// taintOf names the text from outside that a summary of the archived units will contain,
// together with the summary before; empty: none.
func (h History) taintOf(archived []Unit) string {
	for _, u := range archived {
		for _, e := range u.Entries {
			if e.Meta.Taint.Tainted() && h.Taint == "" {
				h.Taint = e.Meta.Taint.From
			}
		}
	}
	return h.Taint
}

// view is an agent's view of a conversation.
type view struct {
	conv  fika.Conversation
	agent fika.Agent
}

// readWindow returns the entries in an agent's window, oldest first: those after the last
// compaction, and those that it kept; in a chat without the tool calls of others. cut is
// that compaction; nil: there is none.
func readWindow(ctx context.Context, s Store, v view) (out []fika.Entry, cut *fika.Entry, err error) {
	spans, cut, err := s.WindowSpans(ctx, v.conv.ID, v.agent.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, x := range spans {
		part, err := s.Entries(ctx, store.EntryQuery{Conversation: v.conv.ID, Since: x.Since, Upto: x.Upto, Types: said})
		if err != nil {
			return nil, nil, err
		}
		out = append(out, part...)
	}
	out = slices.DeleteFunc(out, func(e fika.Entry) bool {
		others := e.Type == fika.ToolCall && e.From != string(v.agent.Name) || e.Type == fika.ToolResult && e.To != string(v.agent.Name)
		return v.conv.Kind == fika.Chat && others
	})
	return out, cut, nil
}
