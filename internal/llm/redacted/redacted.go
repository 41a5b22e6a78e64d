package redacted

import (
	"context"
	"encoding/json"

	"fika/internal/llm"
	"fika/internal/text/redact"
)

// Model returns m with known keys removed from its text, reasoning, calls and raw
// message, even if a key arrives in several pieces. nil keys change nothing.
func Model(m llm.Model, keys *redact.Keys) llm.Model {
	if keys == nil {
		return m
	}
	return &model{m, keys}
}

type model struct {
	llm.Model
	keys *redact.Keys
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	s := &stream{keys: m.keys, emit: emit}
	answer, err := m.Model.Generate(ctx, r, s.event)
	if flushErr := s.flush(); err == nil {
		err = flushErr
	}
	answer.Text, answer.Reasoning, answer.StopText = m.keys.Text(answer.Text), m.keys.Text(answer.Reasoning), m.keys.Text(answer.StopText)
	for i := range answer.Calls {
		answer.Calls[i].Args = m.keys.Text(answer.Calls[i].Args)
	}
	answer.Blob = json.RawMessage(m.keys.Bytes(answer.Blob))
	return answer, err
}

// stream is the output of one model call on its way to emit.
type stream struct {
	keys *redact.Keys
	emit func(llm.Event) error
	kind llm.EventKind  // of the output under way; empty: none
	text *redact.Stream // of kind
}

func (s *stream) event(ev llm.Event) error {
	if ev.Kind != llm.TextDelta && ev.Kind != llm.ReasoningDelta {
		ev.Reason = s.keys.Text(ev.Reason)
		return s.emit(ev)
	}
	if s.kind != ev.Kind {
		if err := s.flush(); err != nil {
			return err
		}
		s.kind, s.text = ev.Kind, s.keys.Stream()
	}
	ev.Text = string(s.text.Next([]byte(ev.Text)))
	if ev.Text == "" {
		ev.Kind = llm.Alive // something did arrive
	}
	return s.emit(ev)
}

// flush passes on the text that was held back.
func (s *stream) flush() error {
	if s.kind == "" {
		return nil
	}
	rest := llm.Event{Kind: s.kind, Text: string(s.text.End())}
	s.kind = ""
	if rest.Text == "" {
		return nil
	}
	return s.emit(rest)
}
