package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/wire"
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
		"nothing": {nil, `[{"role":"user","content":[{"type":"text","text":"Continue."}]}]`},
		"what passes": {[]llm.Message{
			{Role: llm.User, Text: "a"}, {Role: llm.Assistant, Blob: blob, Calls: []llm.Call{{ID: "x", Name: "f", Args: "{}"}}},
			{Role: llm.ToolRole, CallID: "x", Text: "1"}, {Role: llm.System, Text: "todos", Passing: true},
		}, `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]},` + string(blob) +
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"1","cache_control":{"type":"ephemeral"}},{"type":"text","text":"todos"}]}]`},
		"merged and ordered": {[]llm.Message{
			{Role: llm.User, Text: "a"}, {Role: llm.User, Text: " "},
			{Role: llm.Assistant, Blob: blob, Calls: []llm.Call{{ID: "x", Name: "f", Args: "{}"}}},
			{Role: llm.User, Text: "b"}, {Role: llm.ToolRole, CallID: "x", IsError: true},
		}, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"(empty)","cache_control":{"type":"ephemeral"}}]},` +
			string(blob) +
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"(empty)","is_error":true},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]`},
		"ids and ends": {[]llm.Message{
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "f.a:0", Name: "f", Args: `{"x":`}}},
			{Role: llm.ToolRole, CallID: "f.a:0", Text: "1"},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "f.a:0", Name: "f", Args: `{"x":1}`}}},
			{Role: llm.ToolRole, CallID: "f.a:0", Text: "2"},
			{Role: llm.Assistant, Text: "end"},
		}, `[{"role":"user","content":[{"type":"text","text":"(the conversation continues)"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"f_a_0","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"f_a_0","content":"1"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"f_a_0_2","name":"f","input":{"x":1}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"f_a_0_2","content":"2","cache_control":{"type":"ephemeral"}}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"end","cache_control":{"type":"ephemeral"}}]},` +
			`{"role":"user","content":[{"type":"text","text":"Continue."}]}]`},
	} {
		got, err := json.Marshal(acceptedMessages(c.in, replayAll, cacheMark))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestC4Thinking: every family of models is asked in the words that it knows.
func TestC4Thinking(t *testing.T) {
	const off, tools = `"type":"disabled"`, `"type":"between_tools"`
	adaptive := func(effort string) string {
		return `"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"` + effort + `"}`
	}
	bound := func(effort string) string {
		return `"thinking":{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}},"output_config":{"effort":"` + effort + `"}`
	}
	budget := func(n string) string { return `"thinking":{"type":"enabled","budget_tokens":` + n + `}` }
	for _, c := range []struct {
		model  string
		effort string
		tokens int64
		want   string // empty: nothing about thinking
		max    int64
	}{
		{"claude-sonnet-4-20250514", "low", 0, budget("2048"), 8192 + 2048},
		{"claude-3-7-sonnet-latest", "", 10, budget("1024"), 8192 + 1024},
		{"claude-opus-4-5-20251101", "xhigh", 0, budget("32768"), 8192 + 32768},
		{"claude-haiku-4-5", "none", 0, "", 8192},
		{"glm-4.6", "medium", 0, budget("8192"), 8192 + 8192},
		{"claude-opus-4-6", "minimal", 0, adaptive("low"), 8192 + 2048},
		{"claude-opus-4-6", "", 5000, budget("5000"), 8192 + 5000},
		{"claude-sonnet-4-6", "xhigh", 0, adaptive("high"), 8192 + 24576},
		{"claude-sonnet-4-6", "max", 0, adaptive("max"), 8192 + 49152},
		{"claude-opus-4-7", "xhigh", 0, adaptive("xhigh"), 8192 + 32768},
		{"claude-opus-4-7", "", 5000, adaptive("medium"), 8192 + 8192},
		{"claude-opus-4-8", "none", 0, "", 8192},
		{"claude-sonnet-5", "none", 0, off, 8192},
		{"anthropic/claude-opus-5", "max", 0, adaptive("max"), 8192 + 49152},
		{"claude-opus-5", "", 0, "", 8192 + 24576},
		{"claude-fable-5", "none", 0, adaptive("low"), 8192 + 2048},
		{"claude-fable-5-1", "high", 0, bound("high"), 8192 + 24576},
		{"claude-opus-5-5", "none", 0, bound("low"), 8192 + 2048},
		{"claude-opus-5-5", "", 99999, bound("max"), 8192 + 49152},
		{"claude-sonnet-5-5", "none", 0, tools, 8192 + 2048},
		{"claude-sonnet-5-5", "", 0, `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, 8192 + 24576},
		{"claude-haiku-5-5", "none", 0, off, 8192},
	} {
		srv := llmtest.NewAnthropic(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("ok")} })
		r := hello()
		if c.effort != "" || c.tokens != 0 {
			r.Reasoning = &llm.Reasoning{Effort: c.effort, MaxTokens: c.tokens}
		}
		if _, err := ask(t, New(Options{BaseURL: srv.URL(), Model: c.model}), r); err != nil {
			t.Fatal(err)
		}
		got := srv.Requests()[0]
		body := string(got.Body)
		if !strings.Contains(body, c.want) || c.want == "" && strings.Contains(body, "thinking") || got.MaxTokens != c.max {
			t.Errorf("%s with effort %q, %d tokens: no %s, or max_tokens is not %d, in %s", c.model, c.effort, c.tokens, c.want, c.max, body)
		}
		if beta := got.Header.Get("Anthropic-Beta"); strings.Contains(body, "block_binding") && beta != bindingBeta {
			t.Errorf("%s: the beta is %q", c.model, beta)
		}
	}
}

// TestC4Replay: reasoning goes back where it is wanted, and a budget is not
// asked for in a tool loop that lacks it.
func TestC4Replay(t *testing.T) {
	blob := json.RawMessage(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"x","name":"f","input":{}}]}`)
	loop := func(blob json.RawMessage) []llm.Message {
		return []llm.Message{
			{Role: llm.User, Text: "go"}, {Role: llm.Assistant, Blob: blob, Calls: []llm.Call{{ID: "x", Name: "f", Args: "{}"}}},
			{Role: llm.ToolRole, CallID: "x", Text: "1"},
		}
	}
	earlier := append(loop(blob), llm.Message{Role: llm.Assistant, Text: "done"}, llm.Message{Role: llm.User, Text: "more"})
	for _, c := range []struct {
		model, effort string
		messages      []llm.Message
		hm, asks      bool
	}{
		{"claude-sonnet-4-5", "low", loop(blob), true, true},
		{"claude-sonnet-4-5", "low", loop(nil), false, false},
		{"claude-opus-4-6", "low", loop(nil), false, true},
		{"claude-opus-5-5", "low", earlier, true, true},
		{"claude-haiku-5-5", "none", earlier, false, true},
		{"claude-sonnet-5-5", "none", earlier, false, true},
		{"claude-sonnet-5-5", "none", loop(blob), true, true},
	} {
		m := New(Options{Model: c.model}).(*model)
		raw, err := wire.EncodeBody(m.encodeBody(llm.Request{Messages: c.messages, Reasoning: &llm.Reasoning{Effort: c.effort}}))
		if err != nil {
			t.Fatal(err)
		}
		if s := string(raw); strings.Contains(s, `"hm"`) != c.hm || strings.Contains(s, `"thinking":{`) != c.asks {
			t.Errorf("%s, effort %s: %s", c.model, c.effort, s)
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
	if body := string(srv.Requests()[0].Body); strings.Count(body, "cache_control") != 2 { // there are no tools
		t.Errorf("system and last message are not marked for the cache: %s", body)
	}
	for _, o := range []Options{{BaseURL: "host", Model: "m"}, {}} {
		if _, err := ask(t, New(o), hello()); fika.KindOf(err) != fika.Invalid {
			t.Errorf("%+v gives %v", o, err)
		}
	}
}
