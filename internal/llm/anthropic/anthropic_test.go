package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

func ask(t *testing.T, m llm.Model, r llm.Request) (llm.Response, error) {
	t.Helper()
	return m.Generate(t.Context(), r, func(llm.Event) error { return nil })
}

func hello() llm.Request {
	return llm.Request{System: "be kind", Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}
}

func TestWindow(t *testing.T) {
	blob := json.RawMessage(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"x","name":"f","input":{}}]}`)
	for name, c := range map[string]struct {
		in   []llm.Message
		want string
	}{
		"nothing": {nil, `[{"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{"type":"ephemeral"}}]}]`},
		"merged and ordered": {[]llm.Message{
			{Role: llm.User, Text: "a"}, {Role: llm.User, Text: " "},
			{Role: llm.Assistant, Blob: blob, Calls: []llm.Call{{ID: "x", Name: "f", Args: "{}"}}},
			{Role: llm.User, Text: "b"}, {Role: llm.ToolRole, CallID: "x", IsError: true},
		}, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"(empty)"}]},` +
			string(blob) +
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"(empty)","is_error":true},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]`},
		"ids and ends": {[]llm.Message{
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "f.a:0", Name: "f", Args: `{"x":`}}},
			{Role: llm.ToolRole, CallID: "f.a:0", Text: "1"},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "f.a:0", Name: "f", Args: `{"x":1}`}}},
			{Role: llm.ToolRole, CallID: "f.a:0", Text: "2"},
			{Role: llm.Assistant, Text: "end"},
		}, `[{"role":"user","content":[{"type":"text","text":"(the conversation goes on)"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"f_a_0","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"f_a_0","content":"1"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"f_a_0_2","name":"f","input":{"x":1}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"f_a_0_2","content":"2"}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"end"}]},` +
			`{"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{"type":"ephemeral"}}]}]`},
	} {
		got, err := json.Marshal(window(c.in))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestThinking(t *testing.T) {
	call := llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "x", Name: "f", Args: "{}"}}}
	result := llm.Message{Role: llm.ToolRole, CallID: "x", Text: "1"}
	for _, c := range []struct {
		model string
		ask   *llm.Reasoning
		more  []llm.Message
		want  []string
		max   int64
	}{
		{"claude-sonnet-4-20250514", &llm.Reasoning{Effort: "low"}, nil, []string{`"thinking":{"budget_tokens":2048,"type":"enabled"}`}, 8192 + 2048},
		{"claude-3-7-sonnet-latest", &llm.Reasoning{MaxTokens: 10}, nil, []string{`"budget_tokens":1024`}, 8192 + 1024},
		{"claude-opus-4-6", &llm.Reasoning{Effort: "minimal"}, nil, []string{`"thinking":{"type":"adaptive"}`, `"output_config":{"effort":"low"}`}, 8192 + 1024},
		{"claude-opus-4-6", &llm.Reasoning{MaxTokens: 5000}, nil, []string{`"budget_tokens":5000`}, 8192 + 5000},
		{"claude-sonnet-5", &llm.Reasoning{Effort: "high"}, nil, []string{`"adaptive"`}, 8192 + 24576},
		{"claude-opus-4-6", &llm.Reasoning{Effort: "low"}, []llm.Message{call, result}, nil, 8192},
		{"claude-opus-4-6", nil, nil, nil, 8192},
	} {
		srv := llmtest.NewAnthropic(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("ok")} })
		r := hello()
		r.Reasoning = c.ask
		r.Messages = append(r.Messages, c.more...)
		if _, err := ask(t, New(Options{BaseURL: srv.URL(), Model: c.model}), r); err != nil {
			t.Fatal(err)
		}
		got := srv.Requests()[0]
		for _, w := range c.want {
			if !strings.Contains(string(got.Body), w) {
				t.Errorf("%s with %+v: no %s in %s", c.model, c.ask, w, got.Body)
			}
		}
		if got.MaxTokens != c.max || c.want == nil && strings.Contains(string(got.Body), "thinking") {
			t.Errorf("%s with %+v sends %s", c.model, c.ask, got.Body)
		}
	}
}

func TestBaseURL(t *testing.T) {
	srv := llmtest.NewAnthropic(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("ok")} })
	bare := strings.TrimSuffix(srv.URL(), "/v1")
	for _, url := range []string{bare, bare + "/", bare + "/v1", bare + "/v1/", bare + "/v1/messages"} {
		if res, err := ask(t, New(Options{BaseURL: url, Model: "m"}), hello()); err != nil || res.Text != "ok" {
			t.Errorf("%s: %v", url, err)
		}
	}
	if body := string(srv.Requests()[0].Body); strings.Count(body, "cache_control") != 2 {
		t.Errorf("system and last message are not marked for the cache: %s", body)
	}
	for _, o := range []Options{{BaseURL: "host", Model: "m"}, {}} {
		if _, err := ask(t, New(o), hello()); fika.KindOf(err) != fika.Invalid {
			t.Errorf("%+v gives %v", o, err)
		}
	}
}
