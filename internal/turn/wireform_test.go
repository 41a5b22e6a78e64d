package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/gemini"
	"fika/internal/llm/openai"
	"fika/internal/llm/responses"
	"fika/internal/llm/retry"
	"fika/internal/tool"
	"fika/internal/turn"
)

// plainWire is a wire without a strict server: how a text is streamed on it, and where a
// request has its schema.
type plainWire struct {
	open   func(url string) llm.Model
	answer string // with one verb %s, which takes a JSON string of the text
	schema string // of a request that asks for it
}

func plainWires() map[string]plainWire {
	const schema = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`
	return map[string]plainWire{
		"openai": {
			func(url string) llm.Model { return openai.New(openai.Options{Model: "gpt-5.6", BaseURL: url + "/v1"}) },
			`data: {"choices":[{"index":0,"delta":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n",
			`"response_format":{"json_schema":{"name":"answer","schema":` + schema + `},"type":"json_schema"}`,
		},
		"responses": {
			func(url string) llm.Model {
				return responses.New(responses.Options{Model: "gpt-5.6", BaseURL: url + "/v1"})
			},
			`data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":%s}]}]}}` + "\n\n",
			`"text":{"format":{"name":"answer","schema":` + schema + `,"strict":false,"type":"json_schema"}}`,
		},
		"anthropic": {
			func(url string) llm.Model {
				return anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", BaseURL: url})
			},
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":%s}}` + "\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
			`"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`,
		},
		"gemini": {
			func(url string) llm.Model {
				return gemini.New(gemini.Options{Model: "gemini-3-pro", BaseURL: url + "/v1beta"})
			},
			`data: {"candidates":[{"content":{"role":"model","parts":[{"text":%s}]},"finishReason":"STOP"}]}` + "\n\n",
			`"responseMimeType":"application/json","responseJsonSchema":` + schema,
		},
	}
}

// TestFormIsAskedForOnEveryWire: the schema of an answer travels in the provider's own mode. A
// server that refuses it is asked without, once and for all, and the answer is checked as
// ever: one in the wrong form goes back.
func TestFormIsAskedForOnEveryWire(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)
	for name, wire := range plainWires() {
		for _, refuses := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s refuses %t", name, refuses), func(t *testing.T) {
				var asked []bool // with the schema?
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					with := strings.Contains(string(body), wire.schema)
					asked = append(asked, with)
					if refuses && with {
						w.WriteHeader(http.StatusBadRequest)
						fmt.Fprint(w, `{"error":{"message":"this form is unavailable now"}}`)
						return
					}
					text := `"yes"`
					if with || strings.Contains(string(body), "cannot be used") {
						text = `"{\"ok\":true}"`
					}
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, wire.answer, text)
				}))
				t.Cleanup(s.Close)
				w := newWorld(t)
				cfg := w.config()
				cfg.Model = retry.WithoutRefused(wire.open(s.URL))
				cfg.Schema = schema
				cfg.Check = func(text string) error {
					if !json.Valid([]byte(text)) {
						return fmt.Errorf("%s is not JSON", text)
					}
					return nil
				}
				res, err := turn.New(cfg).Run(t.Context(), w.ask("be ok"))
				w.ok(err)
				want := []bool{true}
				if refuses { // refused, wrong without it, right when it was sent back
					want = []bool{true, false, false}
				}
				if res.State != fika.Done || res.Outcome.Answer != `{"ok":true}` || !slices.Equal(asked, want) {
					t.Errorf("%s %q %q, asked with the schema %v", res.State, res.Reason, res.Outcome.Answer, asked)
				}
			})
		}
	}
}

// TestPicturesOfResultsOnEveryWire: what a tool has to show reaches a model that can see, with
// the result, on strict servers; it is committed with the result, so that a later turn shows
// it too. A model that cannot see reads so. Trial row P9.
func TestPicturesOfResultsOnEveryWire(t *testing.T) {
	shown := []fika.Attachment{
		{SHA256: "1", MIME: "image/png", Bytes: 3, Name: "shot.png"}, {SHA256: "2", MIME: "application/pdf", Bytes: 3, Name: "doc.pdf"},
	}
	for name, provider := range strictProviders(t) {
		for _, sees := range []bool{true, false} {
			w := newWorld(t)
			w.tools = append(w.tools, tool.Func[struct{ Path string }]{
				About: tool.Spec{Name: "look", Effect: fika.Pure, Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
				Do: func(context.Context, tool.Call, struct{ Path string }) (tool.Result, error) {
					return tool.Result{Text: "[picture shot.png]", Attachments: shown}, nil
				},
			})
			var asked llm.Request
			w.model.answer = func(ctx context.Context, n int, r llm.Request) (llm.Response, error) {
				if n == 1 {
					return calls(call("call_a", "look", "{}"), call("call_b", "look", "{}")), nil
				}
				asked = r
				return provider.Generate(ctx, r, func(llm.Event) error { return nil })
			}
			cfg := w.config()
			if sees {
				cfg.Picture = func(a fika.Attachment) ([]byte, error) { return []byte(a.Name), nil }
			}
			for range 2 {
				c := w.ask("what is on it?")
				if n := len(w.model.asked); n > 0 {
					w.model.answer = func(ctx context.Context, _ int, r llm.Request) (llm.Response, error) {
						asked = r
						return provider.Generate(ctx, r, func(llm.Event) error { return nil })
					}
				}
				res, err := turn.New(cfg).Run(t.Context(), c)
				w.ok(err)
				if res.State != fika.Done {
					t.Fatalf("%s: %+v", name, res)
				}
				var images, notes int
				for _, m := range asked.Messages {
					if m.Role != llm.ToolRole {
						continue
					}
					images += len(m.Images)
					notes += strings.Count(m.Text, "[this model is shown no pictures]")
				}
				if sees && (images != 4 || notes != 0) || !sees && (images != 0 || notes != 2) {
					t.Errorf("%s: %d pictures, %d notes", name, images, notes)
				}
				if answer := res.Outcome.Answer; sees && strings.Contains(answer, "pictures;") && !strings.Contains(answer, "2 pictures; 2 files") {
					t.Errorf("%s saw %s", name, answer)
				}
			}
		}
	}
}
