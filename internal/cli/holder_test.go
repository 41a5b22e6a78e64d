package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"fika/internal/llm/llmtest"
)

// agentProcess starts an agent and waits until it holds its context.
func (h *home) agentProcess(name string) *program {
	h.t.Helper()
	p := h.start("agent", "run", name)
	up := eventually(func() bool {
		list, _ := h.run(0, "context", "list")
		return strings.Contains(list, name+" [active] [agent]")
	})
	if !up {
		h.t.Fatalf("@%s did not come up:\n%s%s", name, &p.out, &p.err)
	}
	return p
}

// A prompt for a context whose agent runs is asked of that agent, in every
// form of output, with who asks, which model, and where.
func TestAskHolder(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		last := r.Messages[len(r.Messages)-1]
		// What was said before and has no answer may stand in the same message.
		switch word := lastOf(last.Text, "look", "stall", "fail", "hello"); word {
		case "look":
			return llmtest.Script{llmtest.Call("c1", "read", `{"path":"here.txt"}`)}
		case "stall":
			return llmtest.Script{llmtest.Stall()}
		case "fail":
			return llmtest.Script{llmtest.Status(400, "no such thing", 0)}
		}
		return llmtest.Script{llmtest.Text("hej from ", r.Model), llmtest.Usage(10, 2)}
	})
	h := newHome(t, openAI(srv, "")+fmt.Sprintf("[[models]]\nid = \"other\"\nnickname = \"o\"\nprovider = \"openai\"\nbase_url = %q\napi_key_env = \"KEY\"\n", srv.URL()))
	if err := os.WriteFile(h.work+"/here.txt", []byte("found it"), 0o600); err != nil {
		t.Fatal(err)
	}
	there := h.work
	h.work = t.TempDir() // the agent's own place
	h.run(0, "context", "new", "coder")
	agent := h.agentProcess("coder")
	h.work = there

	out, _ := h.run(0, "run", "-c", "coder", "hello")
	if out != "hej from m\n" {
		t.Errorf("stdout %q", out)
	}
	out, _ = h.run(0, "run", "-c", "coder", "-m", "o", "-U", "freja", "hello again")
	if out != "hej from other\n" {
		t.Errorf("with -m: %q", out)
	}
	has(t, "system prompt", srv.Requests()[1].System, "The user is called freja")
	log, _ := h.run(0, "context", "log", "coder", "--json", "--last", "2")
	has(t, "log", log, `"from":"freja","to":"coder","content":"hello again"`)

	out, _ = h.run(0, "run", "-c", "coder", "--json", "hello")
	var result struct {
		Type, Answer, Outcome, Context, Model string
		Usage                                 struct{ Input int }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.Type != "result" || result.Answer != "hej from m" ||
		result.Outcome != "done" || result.Context != "coder" || result.Model != "m" || result.Usage.Input != 10 {
		t.Errorf("json: %v %s", err, out)
	}
	out, _ = h.run(0, "run", "-c", "coder", "--output-format", "stream-json", "look here")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	has(t, "first line", lines[0], `"type":"init"`, `"context":"coder"`)
	has(t, "last line", lines[len(lines)-1], `"type":"result"`, `"answer":"hej from m"`)
	has(t, "stream-json", out, `"type":"message"`)
	requests := srv.Requests()
	has(t, "tool result", fmt.Sprint(requests[len(requests)-1].Messages), "found it") // read in the asker's folder

	p := h.start("run", "-c", "coder", "stall please")
	asked(t, srv, len(requests)+1)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := p.wait(t); got != 130 {
		t.Errorf("ctrl-C: exit status %d\n%s", got, &p.err)
	}
	_, why := h.run(5, "run", "-c", "coder", "fail please")
	has(t, "stderr", why, "no such thing")
	_, why = h.run(4, "run", "-c", "coder", "--continue")
	has(t, "stderr", why, "@coder runs as a process")
	_, why = h.run(4, "context", "clear", "coder")
	has(t, "stderr", why, "in use")

	if err := agent.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := agent.wait(t); got != 0 {
		t.Errorf("the agent ended with %d\n%s%s", got, &agent.out, &agent.err)
	}
	out, _ = h.run(0, "run", "-c", "coder", "hello")
	if out != "hej from m\n" {
		t.Errorf("after the agent: %q", out)
	}
}

// With a hub the asker sees what the agent does while it does it.
func TestAskHolderStreams(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if strings.Contains(said(llmtest.Record{Request: r}), "look") {
			return llmtest.Script{llmtest.Text("I shall look. "), llmtest.Call("c1", "list", `{"path":"."}`)}
		}
		return llmtest.Script{llmtest.Reasoning("hm"), llmtest.Text("one ", "two ", "three")}
	})
	h := newHome(t, openAI(srv, "")+"[[agents]]\nid = \"coder\"\nauto_start = true\npersistent = true\n")
	t.Cleanup(func() { h.start("down").wait(t) })
	h.run(0, "up")
	out, _ := h.run(0, "run", "-c", "coder", "--output-format", "stream-json", "look around")
	var text strings.Builder
	kinds := map[string]int{}
	for line := range strings.Lines(out) {
		var e struct{ Type, Text, ToolName string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds[e.Type]++
		if e.Type == "text" {
			text.WriteString(e.Text)
		}
	}
	if text.String() != "I shall look. one two three" {
		t.Errorf("streamed %q", &text)
	}
	for _, k := range []string{"init", "tool_use", "tool_result", "reasoning", "message", "result"} {
		if kinds[k] == 0 {
			t.Errorf("no event of type %s in\n%s", k, out)
		}
	}
	out, errs := h.run(0, "run", "-c", "coder", "--show-thinking", "-v", "look again")
	if out != "one two three\n" {
		t.Errorf("stdout %q", out)
	}
	has(t, "stderr", errs, "@coder runs as a process", "[list]", "hm")
}

// lastOf returns the word that comes last in a text; "" if none is in it.
func lastOf(text string, words ...string) (last string) {
	at := -1
	for _, w := range words {
		if i := strings.LastIndex(text, w); i > at {
			at, last = i, w
		}
	}
	return last
}
