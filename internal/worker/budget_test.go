package worker

import (
	"encoding/json"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/turn"
)

// Each prompt pays for the system prompt and the tools that everybody has; it
// is measured where it is paid, in the body of the request.
func TestADefaultPromptCostsAtMostTwoKilobytes(t *testing.T) {
	x := sit(t, "")
	var body []byte
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		body = r.Body
		return llmtest.Script{llmtest.Text("hello")}
	})
	c, err := x.runtime.begin(t.Context(), RunOptions{Prompt: "hi"})
	x.must(err)
	model := openai.New(openai.Options{BaseURL: srv.URL(), Model: "m"})
	res, err := turn.New(x.runtime.turnConfig(c, x.worker.Settings, []llm.Model{model}, nil, turn.ObserverFunc(func(turn.Event) {}))).Run(t.Context(), c)
	x.must(err)
	if res.State != fika.Done {
		t.Fatal(res.Reason)
	}
	var sent struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    json.RawMessage   `json:"tools"`
	}
	x.must(json.Unmarshal(body, &sent))
	if n := len(sent.Messages[0]) + len(sent.Tools); n > 2048 || len(sent.Messages) != 2 {
		t.Errorf("%d bytes, 2048 are the most; say it in fewer words, or let an agent have a tool by name only (tool.Spec.ByName):\n%s\n%s", n, sent.Messages[0], sent.Tools)
	} else {
		t.Logf("%d bytes", n)
	}
}
