package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/llm/llmtest"
)

// served is a program that has started fika mcp serve.
type served struct {
	*testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	n   int
}

func (h *home) served() (*served, *program) {
	h.t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	in, out := io.Pipe()
	p := h.piped(from, out, "mcp", "serve")
	from.Close()
	h.t.Cleanup(func() { _ = to.Close(); _ = in.Close() })
	s := &served{T: h.t, in: to, out: bufio.NewScanner(in)}
	s.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"prog","version":"1"}}`)
	fmt.Fprintln(to, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s, p
}

// ask returns the answer to a request.
func (s *served) ask(method, params string) string {
	s.Helper()
	s.n++
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.n, method, params); err != nil {
		s.Fatal(err)
	}
	for s.out.Scan() {
		var m struct{ ID int }
		if err := json.Unmarshal(s.out.Bytes(), &m); err != nil {
			s.Fatalf("not a message: %s", s.out.Text())
		}
		if m.ID == s.n {
			return s.out.Text()
		}
	}
	s.Fatal("it has closed its output")
	return ""
}

func (s *served) call(tool, args string) string {
	s.Helper()
	return s.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// TestServedOverKills: the answer to what a program has asked comes by status, after the hub
// and the agent's process were killed; the same call again is the same request; and with its
// input the server ends.
func TestServedOverKills(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	model := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Wait(goOn), llmtest.Text("well made")}
	})
	h := newHome(t, openAI(model, "")+"[[agents]]\nid = \"coder\"\n")
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down", "--now") })
	s, p := h.served()
	work := `{"agent":"coder","prompt":"review it","wait_s":0}`
	first := s.call("ask", work)
	list, _ := h.run(0, "request", "list")
	id := strings.Fields(strings.Split(list, "\n")[1])[0]
	if !strings.Contains(first, "still working") || !strings.Contains(first, id) {
		t.Errorf("asked: %s", first)
	}
	asked(t, model, 1)
	if h.killAll("up\x00--foreground") == 0 || h.killAll("agent\x00run") == 0 {
		t.Error("nothing was killed")
	}
	if again := s.call("ask", work); !strings.Contains(again, id) {
		t.Errorf("asked again: %s", again)
	}
	close(goOn)
	answer := ""
	if !eventually(func() bool {
		answer = s.call("status", fmt.Sprintf(`{"request":%q,"wait_s":5}`, id))
		return strings.Contains(answer, "well made")
	}) {
		t.Errorf("the answer: %s", answer)
	}
	if list, _ := h.run(0, "request", "list"); strings.Count(list, "coder") != 1 {
		t.Errorf("the requests are\n%s", list)
	}
	if s.in.Close(); p.wait(t) != 0 {
		t.Errorf("it ends with %d: %s", p.ProcessState.ExitCode(), &p.err)
	}
}

// TestServedInATool: a server that a command of an agent starts is that agent, in its chain,
// and refuses what only people do.
func TestServedInATool(t *testing.T) {
	t.Parallel()
	model := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		switch last := r.Messages[len(r.Messages)-1]; {
		case last.Role == "tool":
			return llmtest.Script{llmtest.Text("started")}
		case strings.Contains(last.Text, "serve"):
			return llmtest.Script{llmtest.Call("c1", "bash", `{"command":"fika mcp serve <lines >answers"}`)}
		}
		return llmtest.Script{llmtest.Text("looked")}
	})
	h := newHome(t, openAI(model, "tool_permissions = [\"bash\"]")+"[guard]\nsandbox = \"off\"\n[[agents]]\nid = \"coder\"\n[[agents]]\nid = \"tester\"\n")
	raw, err := os.ReadFile(filepath.Join(h.dir, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	h.write("config.toml", fmt.Sprintf("workspace = %q\n%s", h.work, raw))
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down", "--now") })
	before, _ := h.run(0, "task", "tester", "--no-wait", "a person's")
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"prog","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"start","arguments":{"agent":"tester","prompt":"by the tool"}}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"cancel","arguments":{"request":%q}}}`, strings.Fields(before)[0]),
	}
	if err := os.WriteFile(filepath.Join(h.work, "lines"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(0, "ask", "coder", "serve")
	answers, err := os.ReadFile(filepath.Join(h.work, "answers"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(answers)) {
		if strings.Contains(line, `"id":3`) && !strings.Contains(line, `"isError":true`) {
			t.Errorf("an agent cancels the work of a person: %s", line)
		}
	}
	out, _ := h.run(0, "request", "list", "--json")
	var of []struct{ ID, Agent, Chain, Prompt, From string }
	for line := range strings.Lines(out) {
		var one struct{ ID, Agent, Chain, Prompt, From string }
		if err := json.Unmarshal([]byte(line), &one); err == nil {
			of = append(of, one)
		}
	}
	chain := ""
	for _, r := range of {
		if r.Agent == "coder" {
			chain = r.Chain
		}
	}
	found := false
	for _, r := range of {
		found = found || r.Agent == "tester" && r.Chain == chain && strings.Contains(r.Prompt, "by the tool")
	}
	if !found {
		t.Errorf("in the chain of coder (%s) nothing was started:\n%s\n%s", chain, out, answers)
	}
}
