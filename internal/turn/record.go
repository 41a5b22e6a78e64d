package turn

import (
	"context"
	"encoding/json"

	"fika"
	"fika/internal/llm"
)

// record is what is kept of a model call besides its entries, so that later
// calls can say the same again, byte for byte: providers cache a conversation
// by its beginning, and sign reasoning together with all that came before it.
// It is stored as the blob of the call's step.
type record struct {
	Model   string          `json:"model,omitempty"`
	State   string          `json:"state,omitempty"`   // shown to the model right before this answer
	Message json.RawMessage `json:"message,omitempty"` // as the provider made it, reasoning included
	// Rejected is what the model was told of its answer, which was not in the form
	// that was asked for.
	Rejected string `json:"rejected,omitempty"`
}

// cleared is shown when there was a state and there is none any more.
const cleared = "(Goals, todos and notes are empty now, and no colleague is busy or stopped.)"

// readRecord reads a stored blob; what is not a record counts as nothing.
func readRecord(blob json.RawMessage) record {
	var r record
	_ = json.Unmarshal(blob, &r)
	return r
}

// blob is how a record is stored; nil when there is nothing in it.
func (r record) blob() json.RawMessage {
	if len(r.Message) > 0 && !json.Valid(r.Message) {
		r.Message = nil
	}
	if r.State == "" && len(r.Message) == 0 && r.Rejected == "" {
		return nil
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	return raw
}

// recall reads the records of earlier turns in the window, once each: of this
// agent's own turns in a chat, of all in its own conversations.
func (w *attempt) recall(ctx context.Context, groups [][]fika.Entry) error {
	var answers []fika.Entry
	for _, g := range groups {
		for _, e := range g {
			if e.Request == "" || w.recalled[e.ID] || e.Type == fika.ToolResult {
				continue
			}
			if w.claimed.Conversation.Kind == fika.Chat && e.From != string(w.claimed.Agent.Name) {
				continue
			}
			w.recalled[e.ID] = true
			answers = append(answers, e)
		}
	}
	if len(answers) == 0 {
		return nil
	}
	return w.read(ctx, func(ctx context.Context) error {
		found, err := w.cfg.Store.Blobs(ctx, answers)
		for id, blob := range found {
			w.records[id] = readRecord(blob)
		}
		return err
	})
}

// answered begins the assistant's message that an entry stands for, after the
// state that the model was shown before it. The provider's own message goes
// back to the model that made it only.
func (w *attempt) answered(out []llm.Message, e fika.Entry) []llm.Message {
	r := w.records[e.ID]
	if r.State != "" {
		out = append(out, llm.Message{Role: llm.System, Text: r.State})
		w.shown = r.State
	}
	m := llm.Message{Role: llm.Assistant}
	if r.Model == w.cfg.ModelID {
		m.Blob = r.Message
	}
	if e.Type == fika.Message {
		m.Text = e.Content
	}
	return append(out, m)
}

// news is the state as the model has to be shown it now; empty when the window
// shows it already. It comes last, where it makes nothing uncacheable, and
// stays where it was once the model has answered.
func (w *attempt) news() string {
	switch {
	case w.state == w.shown || w.state == "" && w.shown == cleared:
		return ""
	case w.state == "":
		return cleared
	}
	return w.state
}
