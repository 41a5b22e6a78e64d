package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fika/internal/door/acp/acptest"
	"fika/internal/llm/llmtest"
	"fika/internal/system/process"
)

// edited is a home with two agents, and a model that does what it is told last.
func edited(t *testing.T, goOn chan struct{}) *home {
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		last := r.Messages[len(r.Messages)-1]
		call := func(command string) llmtest.Script {
			return llmtest.Script{llmtest.Call("c1", "bash", `{"command":"`+command+`"}`)}
		}
		switch text := last.Text; {
		case last.Role == "tool":
			return llmtest.Script{llmtest.Text("the tool has ended")}
		case strings.Contains(text, "stream"):
			return llmtest.Script{llmtest.Text("I think "), llmtest.Wait(goOn), llmtest.Text("it is done")}
		case strings.Contains(text, "stall"):
			return llmtest.Script{llmtest.Text("I stall "), llmtest.Stall()}
		case strings.Contains(text, "sleep"):
			return call("echo $$ >pid; exec sleep 1000")
		case strings.Contains(text, "unknown"):
			return call("touch $(cat name)")
		case strings.Contains(text, "two things"):
			return call("touch made; touch other")
		case strings.Contains(text, "twice"):
			return call("touch made made")
		case strings.Contains(text, "touch"):
			return call("touch made; echo once >>count")
		case strings.Contains(text, "@tester"):
			return llmtest.Script{llmtest.Text("looked")}
		case strings.Contains(text, "hand on"):
			return llmtest.Script{llmtest.Text("@tester look")}
		}
		return llmtest.Script{llmtest.Text("looked")}
	})
	h := newHome(t, openAI(srv, "tool_permissions = [\"bash\"]")+"[guard]\nsandbox = \"off\"\n[[agents]]\nid = \"coder\"\n[[agents]]\nid = \"tester\"\n[[rules]]\ntool = \"bash\"\nmatch = \"touch *\"\ndo = \"ask\"\n[[rules]]\ntool = \"bash\"\nmatch = \"*\"\ndo = \"allow\"\n[[rules]]\ntool = \"bash\"\npath = \"**\"\ndo = \"allow\"\n")
	raw, err := os.ReadFile(filepath.Join(h.dir, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	h.write("config.toml", fmt.Sprintf("workspace = %q\n%s", h.work, raw))
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down", "--now") })
	return h
}

// editor is an editor that has started fika acp, and how that is killed.
func (h *home) editor() (*acptest.Editor, func()) {
	h.t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	in, out := io.Pipe()
	p := h.piped(from, out, "acp")
	h.t.Cleanup(func() { _ = to.Close(); _ = in.Close() })
	return acptest.Open(h.t, to, in), func() {
		_ = p.Process.Kill()
		_ = in.Close() // it may be writing what nobody reads any more
		_ = p.Wait()
	}
}

// TestAnEditorIsKilled: when fika acp is killed in a turn, the turn continues. The session that
// is loaded again shows it once, as it was said, and goes on with it.
func TestAnEditorIsKilled(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	h := edited(t, goOn)
	e, kill := h.editor()
	id := e.Begin(h.work)
	e.Send("session/prompt", acptest.Prompt(id, "stream"))
	e.Until("agent_message_chunk")
	kill()
	e, _ = h.editor()
	e.Call("session/load", acptest.In(h.work, id))
	close(goOn)
	for said := ""; !strings.HasSuffix(said, "it is done"); { // a piece may end anywhere
		said += acptest.Said("agent_message_chunk", []acptest.Line{e.Until("agent_message_chunk")})
	}
	e, _ = h.editor()
	e.Call("session/load", acptest.In(h.work, id))
	seen := e.Seen()
	if asked, said := acptest.Said("user_message_chunk", seen), acptest.Said("agent_message_chunk", seen); asked != "@coder stream" || said != "I think it is done" {
		t.Errorf("loaded: %q, %q", asked, said)
	}
	if list, _ := h.run(0, "request", "list"); strings.Count(list, "notify") != 1 {
		t.Errorf("the requests are\n%s", list)
	}
}

// TestAnEditorCancels: a turn that is cancelled in a model call, in a command or in a question
// ends as cancelled, leaves no process, and nothing of it is told after its end.
func TestAnEditorCancels(t *testing.T) {
	t.Parallel()
	h := edited(t, nil)
	e, _ := h.editor()
	for prompt, begun := range map[string]string{"stall": "agent_message_chunk", "sleep": "tool_call", "touch": "session/request_permission"} {
		id := e.Begin(h.work)
		n := e.Send("session/prompt", acptest.Prompt(id, prompt))
		e.Until(begun)
		alive := func() bool { return false }
		if prompt == "sleep" {
			sleeping := awaitProcess(t, filepath.Join(h.work, "pid"))
			alive = func() bool { return process.Alive(sleeping) }
		}
		e.Cancel(id)
		if l := e.Answer(n, "session/prompt"); !strings.Contains(string(l.Result), `"cancelled"`) {
			t.Errorf("%s: %+v %s", prompt, l.Error, l.Result)
		}
		if alive() {
			t.Errorf("%s: its process is left", prompt)
		}
		withdrawn := slices.ContainsFunc(e.Seen(), func(l acptest.Line) bool { return l.Method == "$/cancel_request" })
		if withdrawn != (prompt == "touch") {
			t.Errorf("%s: its question was withdrawn before the end: %v", prompt, withdrawn)
		}
		e.Call("session/close", map[string]any{"sessionId": id})
		for _, l := range e.Seen() {
			t.Errorf("%s: told after its end: %s %s", prompt, l.Method, l.Params)
		}
	}
	if _, err := os.Stat(filepath.Join(h.work, "made")); err == nil {
		t.Error("what was cancelled was done")
	}
}

// TestAnEditorIsAskedBeside: a question that is answered with fika approve is withdrawn from
// the editor; one that the editor has answered is closed for others. Each has one effect.
func TestAnEditorIsAskedBeside(t *testing.T) {
	t.Parallel()
	h := edited(t, nil)
	e, _ := h.editor()
	id := e.Begin(h.work)
	n := e.Send("session/prompt", acptest.Prompt(id, "touch"))
	e.Until("session/request_permission", "touch made")
	h.run(0, "approve", "1")
	e.Until("$/cancel_request")
	if l := e.Answer(n, "session/prompt"); !strings.Contains(string(l.Result), "end_turn") {
		t.Errorf("%+v %s", l.Error, l.Result)
	}
	n = e.Send("session/prompt", acptest.Prompt(id, "touch"))
	e.Reply(e.Until("session/request_permission", "touch made"), "allow")
	e.Answer(n, "session/prompt")
	late := h.start("approve", "2")
	if late.wait(t) == 0 {
		t.Errorf("it was answered twice: %s", &late.err)
	}
	if count, err := os.ReadFile(filepath.Join(h.work, "count")); err != nil || string(count) != "once\nonce\n" {
		t.Errorf("it was done %q, %v", count, err)
	}
}

// TestAnEditorHearsOthers: an answer of another agent appears with its name, also when it
// comes after the editor's prompt has ended.
func TestAnEditorHearsOthers(t *testing.T) {
	t.Parallel()
	h := edited(t, nil)
	e, _ := h.editor()
	id := e.Begin(h.work)
	n := e.Send("session/prompt", acptest.Prompt(id, "hand on"))
	e.Answer(n, "session/prompt")
	if said := acptest.Said("agent_message_chunk", e.Seen()); !strings.HasPrefix(said, "@tester look") || !strings.Contains(said, "tester") || !strings.HasSuffix(said, "looked") {
		t.Errorf("they said %q", said)
	}
	h.run(0, "chat", "send", id, "@tester once more")
	said := ""
	if !eventually(func() bool {
		e.Call("session/list", map[string]any{}) // reads what came before its answer
		said += acptest.Said("agent_message_chunk", e.Seen())
		return strings.Contains(said, "looked")
	}) {
		t.Errorf("after the end of the prompt they said %q", said)
	}
}

// TestAnEditorAllowsForGood: the answer "always" shows the rule that it writes, and writes
// that one alone: the same call is not asked about again. Where no one rule can allow a
// call, it can be allowed once.
func TestAnEditorAllowsForGood(t *testing.T) {
	t.Parallel()
	h := edited(t, nil)
	config := filepath.Join(h.dir, "config.toml")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := h.editor()
	id := e.Begin(h.work)
	for _, what := range []string{"unknown", "two things"} {
		n := e.Send("session/prompt", acptest.Prompt(id, what))
		l := e.Until("session/request_permission", "touch ")
		if strings.Contains(string(l.Params), "allow_always") {
			t.Errorf("%s: one rule is said to allow it for good: %s", what, l.Params)
		}
		e.Reply(l, "always") // which it was not offered
		e.Answer(n, "session/prompt")
	}
	n := e.Send("session/prompt", acptest.Prompt(id, "twice"))
	l := e.Until("session/request_permission", "touch made")
	want := `{"optionId":"always","name":"Always allow: bash touch made *"`
	if !strings.Contains(string(l.Params), want) || strings.Count(string(l.Params), "allow_always") != 1 {
		t.Errorf("the answers are %s", l.Params)
	}
	e.Reply(l, "always")
	e.Answer(n, "session/prompt")
	e.Seen()
	e.Answer(e.Send("session/prompt", acptest.Prompt(id, "twice")), "session/prompt")
	for _, l := range e.Seen() {
		if l.Method == "session/request_permission" {
			t.Errorf("it is asked about again: %s", l.Params)
		}
	}
	after, err := os.ReadFile(config)
	added := strings.TrimPrefix(string(after), string(before))
	if err != nil || len(added) == len(after) || strings.Count(added, "[[rules]]") != 1 || !strings.Contains(added, `match = "touch made *"`) {
		t.Errorf("the settings got %q, %v", added, err)
	}
	if _, err := os.Stat(filepath.Join(h.work, "other")); err == nil {
		t.Error("what was refused was done")
	}
}
