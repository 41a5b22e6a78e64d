package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// TestSessionRewinds: /rewind goes back to before a prompt, in the middle of a turn too,
// which ends then; files come back unless they are to stay; what was taken out is in no
// further prompt, and can be read and put back.
func TestSessionRewinds(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		switch last := said(llmtest.Record{Request: r}); {
		case r.Messages[len(r.Messages)-1].Role == llm.ToolRole:
		case strings.Contains(last, "heron"):
			return llmtest.Script{llmtest.Call("c1", "create", `{"path": "heron.txt", "content": "heron\n"}`)}
		case strings.Contains(last, "osprey"):
			return llmtest.Script{llmtest.Text("I think of the osprey "), llmtest.Stall()}
		}
		return llmtest.Script{llmtest.Text("At rest.")}
	})
	h := newHome(t, openAI(srv, "tool_permissions = [\"create\"]")+"[[agents]]\nid = \"coder\"\n")
	file := filepath.Join(coderWorkspace(t, h), "heron.txt")
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	var before int
	shown := seen(h.scene([]act{
		{"/help", typed("hello\r")},
		{"At rest.\n", typed("make the heron\r")},
		{"At rest.\n", func(*terminal) string {
			if !exists(file) {
				t.Error("the file was not made")
			}
			return "and the osprey\r"
		}},
		{"I think of the osprey", typed("/rewind x\r")},
		{"is not the number of a message", typed("/rewind\r")},
		{"@coder hello", typed("/rewind 3\r")},
		{"heron.txt", func(*terminal) string { return "" }},
		{"/rewind back puts it back", func(*terminal) string {
			if exists(file) {
				t.Error("the file is still there")
			}
			before = len(srv.Requests())
			return "what do you know?\r"
		}},
		{"At rest.\n", typed("/rewind back\r")},
		{"back", typed("/quit\r")},
	}))
	for _, r := range srv.Requests()[before:] {
		if strings.Contains(string(r.Body), "heron") || strings.Contains(string(r.Body), "osprey") {
			t.Errorf("what was taken out is in a prompt:\n%s", r.Body)
		}
	}
	if len(srv.Requests()) != before+1 {
		t.Errorf("%d requests after %d", len(srv.Requests()), before)
	}
	out, _ := h.run(0, "chat", "view", sessionName(t, h))
	has(t, "the chat", out, "make the heron", "and the osprey", "what do you know?")
	if t.Failed() {
		t.Log(shown)
	}
	_ = os.Remove(file)
}
