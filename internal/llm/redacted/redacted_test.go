package redacted_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/redacted"
	"fika/internal/text/redact"
)

const key = "sk-test-0123456789abcdef"

// says is a model that says what it is told to, byte by byte.
type says llm.Response

func (s says) Generate(_ context.Context, _ llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	for kind, text := range map[llm.EventKind]string{llm.ReasoningDelta: s.Reasoning, llm.TextDelta: s.Text} {
		for i := range len(text) {
			if err := emit(llm.Event{Kind: kind, Text: text[i : i+1]}); err != nil {
				return llm.Response{}, err
			}
		}
	}
	return llm.Response(s), nil
}

// TestD8Model: no piece of what a model says holds a key, or has a part of one.
func TestD8Model(t *testing.T) {
	m := redacted.Model(says{
		Text: "it is " + key + "!", Reasoning: "say " + key, Calls: []llm.Call{{Name: "bash", Args: `{"command":"echo ` + key + `"}`}},
		Blob: json.RawMessage(`{"text":"` + key + `"}`),
	}, redact.New(map[string]string{"KEY": key}))
	said := map[llm.EventKind]string{}
	got, err := m.Generate(t.Context(), llm.Request{}, func(ev llm.Event) error {
		said[ev.Kind] += ev.Text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if said[llm.TextDelta] != "it is [key KEY]!" || said[llm.ReasoningDelta] != "say [key KEY]" {
		t.Errorf("streamed %q", said)
	}
	whole, err := json.Marshal(got)
	if err != nil || strings.Contains(string(whole), key) || strings.Count(string(whole), "[key KEY]") != 4 {
		t.Errorf("%s %v", whole, err)
	}
}
