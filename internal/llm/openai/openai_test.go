package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
)

func generate(t *testing.T, m llm.Model, r llm.Request) (llm.Response, string, error) {
	t.Helper()
	var thoughts strings.Builder
	res, err := m.Generate(t.Context(), r, func(e llm.Event) error {
		if e.Kind == llm.ReasoningDelta {
			thoughts.WriteString(e.Text)
		}
		return nil
	})
	return res, thoughts.String(), err
}

func hello() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}
}

// stream serves raw chunks and an end mark.
func stream(t *testing.T, chunks ...string) llm.Model {
	t.Helper()
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
		var s llmtest.Script
		for _, c := range chunks {
			s = append(s, llmtest.Raw("data: "+c+"\n\n"))
		}
		return append(s, llmtest.Raw("data: [DONE]\n\n"), llmtest.Stall())
	})
	return openai.New(openai.Options{BaseURL: srv.URL(), Model: "m"})
}

func TestOddServers(t *testing.T) {
	for name, c := range map[string]struct {
		chunks []string
		want   llm.Response
	}{
		"cost and cache of a router": {
			[]string{`{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"cost":0.00123456,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":null}}`},
			llm.Response{Text: "hi", Usage: fika.Usage{Input: 9, Output: 2, Cached: 4, Cost: 1235}},
		},
		"error null, usage null": {
			[]string{`{"error":null,"usage":null,"choices":[{"delta":{"content":"hi"},"finish_reason":null}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`},
			llm.Response{Text: "hi"},
		},
		"reasoning_content": {
			[]string{`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, `{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`},
			llm.Response{Text: "hi", Reasoning: "hm"},
		},
		"one index for all calls": {
			[]string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`},
			llm.Response{Calls: []llm.Call{{ID: "a", Name: "x", Args: "{}"}, {ID: "b", Name: "y", Args: "{}"}}},
		},
		"no index, arguments as an object": {
			[]string{`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"x","arguments":{"a":1}}},{"function":{"name":"y"}}]},"finish_reason":"stop"}]}`},
			llm.Response{Calls: []llm.Call{{ID: "call_1", Name: "x", Args: `{"a":1}`}, {ID: "call_2", Name: "y", Args: "{}"}}},
		},
		"calls mixed": {
			[]string{`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"y","arguments":"{\"b\""}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\""}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":":1}"}},{"index":0,"function":{"arguments":":2}"}}]},"finish_reason":"tool_calls"}]}`},
			llm.Response{Calls: []llm.Call{{ID: "a", Name: "x", Args: `{"a":2}`}, {ID: "b", Name: "y", Args: `{"b":1}`}}},
		},
		"whole message after deltas": {
			[]string{`{"choices":[{"delta":{"content":"hi"}}]}`, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`},
			llm.Response{Text: "hi"},
		},
		"characters cut in half": {
			[]string{"{\"choices\":[{\"delta\":{\"content\":\"\xf0\x9f\"}}]}", "{\"choices\":[{\"delta\":{\"content\":\"\x98\x80\"},\"finish_reason\":\"stop\"}]}"},
			llm.Response{Text: "😀"},
		},
		"content filter": {
			[]string{`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`},
			llm.Response{Stop: llm.StopFilter},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, thoughts, err := generate(t, stream(t, c.chunks...), hello())
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(got.Blob) || thoughts != c.want.Reasoning {
				t.Errorf("blob %s, thoughts %q", got.Blob, thoughts)
			}
			got.Blob = nil
			if got.Usage.Estimated {
				got.Usage = fika.Usage{}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A stream that only says it is done has no answer in it.
func TestNoAnswer(t *testing.T) {
	_, _, err := generate(t, stream(t), hello())
	if fika.KindOf(err) != fika.Provider {
		t.Errorf("error is %v", err)
	}
	_, _, err = generate(t, stream(t, `{"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`), hello())
	if fika.KindOf(err) != fika.Provider {
		t.Errorf("finish_reason error gives %v", err)
	}
}

func TestReasoningDetails(t *testing.T) {
	m := stream(t,
		`{"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","index":0,"text":"a","signature":null}]}}]}`,
		`{"choices":[{"delta":{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","index":0,"text":"b"}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"sig"}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"x"}],"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"t"}}}]},"finish_reason":"tool_calls"}]}`)
	res, thoughts, err := generate(t, m, hello())
	if err != nil || thoughts != "ab" {
		t.Fatalf("thoughts %q, error %v", thoughts, err)
	}
	want := `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"t"}}}],` +
		`"reasoning_details":[{"index":0,"signature":"sig","text":"ab","type":"reasoning.text"},{"data":"x","index":1,"type":"reasoning.encrypted"}]}`
	if d := cmp.Diff(want, string(res.Blob)); d != "" {
		t.Errorf("blob (-want +got):\n%s", d)
	}
}

func TestReasoningStyles(t *testing.T) {
	for _, c := range []struct {
		style openai.ReasoningStyle
		ask   *llm.Reasoning
		want  string
	}{
		{openai.ReasoningByHost, &llm.Reasoning{Effort: "low"}, `"reasoning_effort":"low"`},
		{openai.ReasoningEffort, &llm.Reasoning{MaxTokens: 9000}, `"reasoning_effort":"high"`},
		{openai.ReasoningObject, &llm.Reasoning{Effort: "low"}, `"reasoning":{"effort":"low"}`},
		{openai.ReasoningObject, &llm.Reasoning{MaxTokens: 9000}, `"reasoning":{"max_tokens":9000}`},
		{openai.ReasoningObject, &llm.Reasoning{Effort: "none"}, `"reasoning":{"effort":"none"}`},
		{openai.ReasoningNone, &llm.Reasoning{Effort: "low"}, ""},
		{openai.ReasoningObject, nil, ""},
	} {
		srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("ok")} })
		r := hello()
		r.Reasoning = c.ask
		if _, _, err := generate(t, openai.New(openai.Options{BaseURL: srv.URL() + "/", Model: "m", ReasoningStyle: c.style}), r); err != nil {
			t.Fatal(err)
		}
		body := string(srv.Requests()[0].Body)
		if !strings.Contains(body, c.want) || c.want == "" && strings.Contains(body, "reasoning") {
			t.Errorf("%s with %+v sends %s", c.style, c.ask, body)
		}
	}
}

// TestC4Efforts: every model of OpenAI is asked for an effort that it knows;
// other servers decide themselves.
func TestC4Efforts(t *testing.T) {
	for model, want := range map[string][4]string{ // of none, minimal, xhigh, max
		"o4-mini":           {"low", "low", "high", "high"},
		"gpt-5":             {"minimal", "minimal", "high", "high"},
		"gpt-5-mini":        {"minimal", "minimal", "high", "high"},
		"gpt-5.1":           {"none", "none", "high", "high"},
		"gpt-5.1-codex-max": {"none", "none", "xhigh", "xhigh"},
		"openai/gpt-5.5":    {"none", "none", "xhigh", "xhigh"},
		"gpt-5.6-terra":     {"none", "none", "xhigh", "max"},
		"gpt-6-sol":         {"none", "none", "xhigh", "max"},
		"gpt-4.1":           {},
		"gpt-4o":            {},
		"gpt-5-chat-latest": {},
		"chatgpt-4o-latest": {},
		"gpt-oss:20b":       {"low", "low", "high", "high"},
		"qwen3":             {"none", "minimal", "xhigh", "max"},
	} {
		for i, effort := range []string{"none", "minimal", "xhigh", "max"} {
			srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("ok")} })
			r := hello()
			r.Reasoning = &llm.Reasoning{Effort: effort}
			if _, _, err := generate(t, openai.New(openai.Options{BaseURL: srv.URL(), Model: model}), r); err != nil {
				t.Fatal(err)
			}
			var sent struct {
				Effort string `json:"reasoning_effort"`
			}
			if err := json.Unmarshal(srv.Requests()[0].Body, &sent); err != nil || sent.Effort != want[i] {
				t.Errorf("%s, effort %s: sends %q, want %q (%v)", model, effort, sent.Effort, want[i], err)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []openai.Options{{BaseURL: "://", Model: "m"}, {BaseURL: "ftp://x", Model: "m"}, {BaseURL: "localhost:11434", Model: "m"}, {}} {
		if _, _, err := generate(t, openai.New(o), hello()); fika.KindOf(err) != fika.Invalid {
			t.Errorf("%+v gives %v", o, err)
		}
	}
}

// Nothing of the environment may reach a server that a person named.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-other")
	t.Setenv("OPENAI_ORG_ID", "org-other")
	var header http.Header
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		header = r.Header
		return llmtest.Script{llmtest.Text("ok")}
	})
	if _, _, err := generate(t, openai.New(openai.Options{BaseURL: srv.URL(), Model: "m"}), hello()); err != nil {
		t.Fatal(err)
	}
	if header.Get("Authorization") != "" || header.Get("Openai-Organization") != "" {
		t.Errorf("headers are %v", header)
	}
}

// sent keeps the last call instead of making it.
type sent struct {
	header http.Header
	body   []byte
}

func (s *sent) RoundTrip(q *http.Request) (*http.Response, error) {
	s.header = q.Header
	var err error
	if s.body, err = io.ReadAll(q.Body); err != nil {
		return nil, err
	}
	return nil, http.ErrServerClosed
}

// Azure takes the key in a header of its own, and bounds an answer by another field than most
// servers, of which it refuses the name. Trial row P19.
func TestAzure(t *testing.T) {
	for url, azure := range map[string]bool{
		"https://name.openai.azure.com/openai/v1": true, "https://name.services.ai.azure.com/openai/v1": true, "https://azure.com.evil.test/v1": false, "https://gpu.lan/v1": false,
	} {
		var s sent
		r := hello()
		r.MaxTokens = 100
		_, _, _ = generate(t, openai.New(openai.Options{BaseURL: url, APIKey: "k", Model: "m", HTTPClient: &http.Client{Transport: &s}}), r) // no answer
		field := map[bool]string{true: `"max_completion_tokens":100`, false: `"max_tokens":100`}[azure]
		if (s.header.Get("Api-Key") == "k") != azure || s.header.Get("Authorization") != "Bearer k" || !strings.Contains(string(s.body), field) {
			t.Errorf("%s gets %v, %s", url, s.header, s.body)
		}
	}
}
