package turn_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/gemini"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/llmtest/strict"
	"fika/internal/llm/openai"
	"fika/internal/llm/responses"
	"fika/internal/tool"
	"fika/internal/turn"
)

// strictProviders returns a model of each wire, with a strict server of its own that says
// ok or, on the wires of strict, what it was shown.
func strictProviders(t *testing.T) map[string]llm.Model {
	ok := func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("ok")} }
	serve := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	return map[string]llm.Model{
		"openai":    openai.New(openai.Options{Model: "m", BaseURL: llmtest.NewOpenAI(t, ok).URL()}),
		"anthropic": anthropic.New(anthropic.Options{Model: "m", BaseURL: llmtest.NewAnthropic(t, ok).URL()}),
		"responses": responses.New(responses.Options{Model: "m", BaseURL: serve(strict.Responses()) + "/v1", APIKey: "k"}),
		"gemini":    gemini.New(gemini.Options{Model: "m", BaseURL: serve(strict.Gemini(true)) + "/v1beta", APIKey: "k"}),
	}
}

// TestEveryWindowIsValidOnEveryWire: whatever a conversation went through, strict servers
// of all four wires accept the window of its next model call: every result answers a call of
// the answer before it, every call has a result, and what a provider made goes back only
// with the calls it holds.
func TestEveryWindowIsValidOnEveryWire(t *testing.T) {
	histories := 10_000
	if testing.Short() {
		histories = 500
	}
	providers := strictProviders(t)
	none, err := tool.NewSet(nil, tool.Permissions{})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range histories {
		h, claimed, own := newHistory(uint64(seed), 2+seed%200)
		for name, provider := range providers {
			cfg := turn.Config{Call: tool.Call{Username: "ann"}, ModelID: name, Window: 100_000, Tools: none}
			cfg.Store.History = h
			messages, err := turn.Window(t.Context(), cfg, claimed, own)
			if err != nil {
				t.Fatal(err)
			}
			if err := valid(messages); err != nil {
				t.Fatalf("history %d: %v", seed, err)
			}
			if _, err := provider.Generate(t.Context(), llm.Request{Messages: messages}, func(llm.Event) error { return nil }); err != nil {
				t.Fatalf("history %d on %s: %v", seed, name, err)
			}
		}
	}
}
