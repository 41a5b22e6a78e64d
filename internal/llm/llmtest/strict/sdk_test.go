package strict_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/gemini"
	"fika/internal/llm/openai"
	"fika/internal/llm/responses"
)

// The libraries whose types the encoders and the strict servers are written from.
const (
	openAISDK    = "github.com/openai/openai-go/v3@v3.96.0"
	genAISDK     = "google.golang.org/genai@v1.77.0"
	anthropicSDK = "github.com/anthropics/anthropic-sdk-go@v1.84.0"
)

// everything returns requests in which an encoder uses all that it can: raw is an answer with
// two calls as the wire made it.
func everything(raw string) []llm.Request {
	calls := []llm.Call{{ID: "call_a", Name: "look", Args: `{"path":"a"}`}, {ID: "call_b", Name: "look", Args: `{"path":"b"}`}}
	images := []llm.Image{{MIME: "image/png", Data: []byte("png")}, {MIME: "application/pdf", Data: []byte("pdf")}}
	schema := json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)
	var out []llm.Request
	for _, blob := range []string{raw, ""} {
		for _, r := range []*llm.Reasoning{nil, {Effort: "none"}, {Effort: "max"}, {MaxTokens: 4000}} {
			out = append(out, llm.Request{
				System: "be kind", Tools: look(), MaxTokens: 1000, Reasoning: r, Schema: schema,
				Messages: []llm.Message{
					{Role: llm.User, Text: "use it", Images: images},
					{Role: llm.Assistant, Text: "both", Calls: calls, Blob: json.RawMessage(blob)},
					{Role: llm.ToolRole, CallID: "call_a", Text: "one", Images: images},
					{Role: llm.ToolRole, CallID: "call_b", Text: "two", IsError: true},
					{Role: llm.Assistant, Text: "done"},
					{Role: llm.User, Text: "and now?"},
					{Role: llm.System, Text: "todos: 1", Passing: true},
				},
			})
		}
	}
	return append(out, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "hello"}}})
}

// recorder is a transport that keeps what is sent, and answers nothing of use.
type recorder struct{ bodies []map[string]any }

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(q.Body)
	var body map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	r.bodies = append(r.bodies, body)
	return &http.Response{StatusCode: 500, Body: io.NopCloser(strings.NewReader("")), Request: q}, err
}

// The official libraries know every field that an encoder sends, and it sends every field that
// they require. The libraries add stream to a call by themselves.
func TestRequestsAgainstOfficialTypes(t *testing.T) {
	for name, tt := range map[string]struct {
		module  string
		folders []string
		types   map[string]string // of the fields at the top; "": of the whole
		raw     string
		open    func(*http.Client) llm.Model
	}{
		"openai": {
			openAISDK, []string{".", "shared"}, map[string]string{"": "ChatCompletionNewParams"},
			`{"role":"assistant","content":"both","tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":"{}"}},{"id":"call_b","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
			func(c *http.Client) llm.Model { return openai.New(openai.Options{Model: "gpt-5.6", HTTPClient: c}) },
		},
		"responses": {
			openAISDK, []string{".", "shared", "responses"}, map[string]string{"": "ResponseNewParams"},
			`{"role":"assistant","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},
			{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"both","annotations":[]}]},
			{"type":"function_call","id":"fc_a","call_id":"call_a","name":"look","arguments":"{}","status":"completed"},{"type":"function_call","id":"fc_b","call_id":"call_b","name":"look","arguments":"{}"}]}`,
			func(c *http.Client) llm.Model {
				return responses.New(responses.Options{Model: "gpt-5.6", HTTPClient: c})
			},
		},
		"anthropic": {
			anthropicSDK, []string{".", "shared"}, map[string]string{"": "MessageNewParams"},
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"both"},
			{"type":"tool_use","id":"call_a","name":"look","input":{}},{"type":"tool_use","id":"call_b","name":"look","input":{}}]}`,
			func(c *http.Client) llm.Model {
				return anthropic.New(anthropic.Options{Model: "claude-sonnet-5", HTTPClient: c})
			},
		},
		"gemini": {
			genAISDK, []string{"."}, map[string]string{"contents": "[]Content", "systemInstruction": "Content", "tools": "[]Tool", "generationConfig": "GenerationConfig"},
			`{"role":"model","parts":[{"text":"both","thoughtSignature":"c2ln"},{"functionCall":{"name":"look","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"call_b","name":"look","args":{}}}]}`,
			func(c *http.Client) llm.Model {
				return gemini.New(gemini.Options{Model: "gemini-3-pro", HTTPClient: c})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			types := sdkOf(t, tt.module, tt.folders...)
			var sent recorder
			m := tt.open(&http.Client{Transport: &sent})
			requests := everything(tt.raw)
			for _, r := range requests {
				_, _ = m.Generate(t.Context(), r, func(llm.Event) error { return nil }) // the recorder answers with an error
			}
			if len(sent.bodies) != len(requests) {
				t.Fatalf("%d of %d requests were sent", len(sent.bodies), len(requests))
			}
			for i, body := range sent.bodies {
				delete(body, "stream")
				var wrong []string
				for key, kind := range tt.types {
					switch v, there := body[key]; {
					case key == "":
						wrong = append(wrong, types.unknown("", body, ast.NewIdent(kind))...)
						body = nil
					case there:
						wrong = append(wrong, types.unknown(key, v, typeNamed(kind))...)
						delete(body, key)
					}
				}
				for key := range body {
					wrong = append(wrong, key)
				}
				if len(wrong) > 0 {
					t.Errorf("request %d: %q", i, wrong)
				}
			}
		})
	}
}

func typeNamed(s string) ast.Expr {
	if inner, ok := strings.CutPrefix(s, "[]"); ok {
		return &ast.ArrayType{Elt: ast.NewIdent(inner)}
	}
	return ast.NewIdent(s)
}

// The comparison does see what a library does not know, and what it requires.
func TestOfficialTypesRefuse(t *testing.T) {
	types := sdkOf(t, openAISDK, ".", "shared")
	body := map[string]any{"model": "m", "temprature": 1.0, "messages": []any{
		map[string]any{"role": "user", "content": "x", "colour": "red"}, map[string]any{"role": "tool", "content": "x"},
	}}
	got := types.unknown("", body, ast.NewIdent("ChatCompletionNewParams"))
	if want := []string{".messages[0].colour", ".messages[1].tool_call_id is missing", ".temprature"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The table of ends in docs/internals/failures.md has every reason to stop that the official libraries
// know, in the column of its wire.
func TestTableHasEveryOfficialStop(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/internals/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| stop | outcome |")
	table, _, _ = strings.Cut(table, "\n\n")
	column := func(n int) (words string) {
		for _, row := range strings.Split(table, "\n") {
			if cells := strings.Split(row, "|"); len(cells) > n {
				words += cells[n]
			}
		}
		return words
	}
	open, anthropicTypes, google := sdkOf(t, openAISDK, ".", "responses"), sdkOf(t, anthropicSDK, "."), sdkOf(t, genAISDK, ".")
	for n, words := range map[int][]string{
		6: open.words(t, "chatcompletion.go", "ChatCompletionChunkChoice", "FinishReason"),
		7: append(open.words(t, "responses/response.go", "ResponseIncompleteDetails", "Reason"), open.consts["ResponseStatus"]...),
		8: anthropicTypes.consts["StopReason"],
		9: google.consts["FinishReason"],
	} {
		if len(words) < 4 {
			t.Errorf("column %d: only %q", n, words)
		}
		for _, word := range words {
			if word != "incomplete" && !strings.Contains(column(n), "`"+word+"`") {
				t.Errorf("column %d has no %s", n, word)
			}
		}
	}
}

// exchange keeps what a strict server answers.
type exchange struct {
	http.RoundTripper
	answers []map[string]any
}

func (x *exchange) RoundTrip(q *http.Request) (*http.Response, error) {
	res, err := x.RoundTripper.RoundTrip(q)
	if err != nil {
		return res, err
	}
	raw, err := io.ReadAll(res.Body)
	for line := range bytes.Lines(raw) {
		var event map[string]any
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && json.Unmarshal(data, &event) == nil {
			x.answers = append(x.answers, event)
		}
	}
	res.Body = io.NopCloser(bytes.NewReader(raw))
	return res, err
}

// The official libraries know every field that the strict servers answer with.
func TestStrictServersAgainstOfficialTypes(t *testing.T) {
	for wire, tt := range map[string]struct {
		module  string
		folders []string
		kind    string
	}{
		"responses": {openAISDK, []string{".", "shared", "responses"}, "ResponseStreamEventUnion"},
		"gemini":    {genAISDK, []string{"."}, "GenerateContentResponse"},
	} {
		t.Run(wire, func(t *testing.T) {
			types := sdkOf(t, tt.module, tt.folders...)
			x := &exchange{RoundTripper: http.DefaultTransport}
			m := wiresOver(t, &http.Client{Transport: x})[wire]
			for _, text := range []string{"use it", "hello"} {
				ask(t, m, llm.Request{Tools: look(), Messages: []llm.Message{{Role: llm.User, Text: text}}})
			}
			if len(x.answers) < 5 {
				t.Fatalf("%d events", len(x.answers))
			}
			for _, event := range x.answers {
				unknown := slices.DeleteFunc(types.unknown("", event, ast.NewIdent(tt.kind)), func(s string) bool { return strings.HasSuffix(s, "is missing") })
				if len(unknown) > 0 {
					t.Errorf("%v: %q", event["type"], unknown)
				}
			}
		})
	}
}
