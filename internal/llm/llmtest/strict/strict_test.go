package strict_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/gemini"
	"fika/internal/llm/llmtest/strict"
	"fika/internal/llm/responses"
)

// wires are the packages under test, each with its server.
func wires(t *testing.T) map[string]llm.Model { return wiresOver(t, nil) }

func wiresOver(t *testing.T, c *http.Client) map[string]llm.Model {
	serve := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	return map[string]llm.Model{
		"responses":             responses.New(responses.Options{BaseURL: serve(strict.Responses()) + "/v1", APIKey: "k", Model: "m", HTTPClient: c}),
		"gemini":                gemini.New(gemini.Options{BaseURL: serve(strict.Gemini(true)) + "/v1beta", APIKey: "k", Model: "m", HTTPClient: c}),
		"gemini, unnamed calls": gemini.New(gemini.Options{BaseURL: serve(strict.Gemini(false)) + "/v1beta", APIKey: "k", Model: "m", HTTPClient: c}),
	}
}

func ask(t *testing.T, m llm.Model, r llm.Request) llm.Response {
	t.Helper()
	shown := ""
	res, err := m.Generate(t.Context(), r, func(e llm.Event) error {
		if e.Kind == llm.TextDelta {
			shown += e.Text
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if shown != res.Text {
		t.Errorf("shown %q, answered %q", shown, res.Text)
	}
	return res
}

func look() []llm.Tool {
	return []llm.Tool{{Name: "look", Description: "looks", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
}

// A turn with thoughts, two parallel calls, their results and pictures goes through, thoughts
// go back unchanged, and what another model has said is understood. Trial row P19.
func TestToolTurn(t *testing.T) {
	picture, document := llm.Image{MIME: "image/png", Data: []byte("png")}, llm.Image{MIME: "application/pdf", Data: []byte("pdf")}
	for name, m := range wires(t) {
		t.Run(name, func(t *testing.T) {
			r := llm.Request{System: "be kind", Tools: look(), MaxTokens: 100, Messages: []llm.Message{{Role: llm.User, Text: "use it", Images: []llm.Image{picture}}}}
			first := ask(t, m, r)
			if len(first.Calls) != 2 || first.Reasoning != "two at once" || first.Stop != llm.StopEnd || first.Calls[0].Args != `{"path":"call_a"}` || first.Calls[0].ID == first.Calls[1].ID {
				t.Fatalf("%+v", first)
			}
			if want := (fika.Usage{Input: 100, Output: 20, Cached: 60, Reasoning: 8}); first.Usage != want {
				t.Errorf("usage is %+v", first.Usage)
			}
			for blob, thoughts := range map[string]string{string(first.Blob): "1 thoughts", "": "0 thoughts", `{"role":"assistant","content":"x"}`: "0 thoughts"} {
				next := r
				next.Messages = append(r.Messages[:1:1], llm.Message{Role: llm.Assistant, Text: first.Text, Calls: first.Calls, Blob: json.RawMessage(blob)},
					llm.Message{Role: llm.ToolRole, CallID: first.Calls[0].ID, Text: "one", Images: []llm.Image{picture, document}},
					llm.Message{Role: llm.ToolRole, CallID: first.Calls[1].ID, Text: "two"})
				if blob == "" && strings.Contains(name, "gemini") {
					next.Messages = append(next.Messages, llm.Message{Role: llm.System, Text: "todos", Passing: true})
					thoughts = ""
				}
				got := ask(t, m, next).Text
				if !strings.Contains(got, "results one,two; 2 pictures; 1 files; "+thoughts) {
					t.Errorf("with blob %.60s: %s", blob, got)
				}
			}
		})
	}
}

// An answer is held to a schema by the provider's own mode.
func TestSchema(t *testing.T) {
	for name, m := range wires(t) {
		r := llm.Request{Schema: json.RawMessage(`{"type":"object"}`), Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}
		if got := ask(t, m, r).Text; got != `{"ok":true}` {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The servers do refuse: results without calls, and what is no conversation.
func TestTheServersRefuse(t *testing.T) {
	for name, m := range wires(t) {
		if !strings.Contains(name, "responses") {
			continue
		}
		r := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "x"}, {Role: llm.ToolRole, CallID: "nobody", Text: "1"}}}
		_, err := m.Generate(t.Context(), r, func(llm.Event) error { return nil })
		var p *llm.ProviderError
		if !errors.As(err, &p) || p.Status != 400 || p.RequestID != "req_strict" || p.Code != "invalid_request" || !strings.Contains(err.Error(), "req_strict") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
