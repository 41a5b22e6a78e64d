package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/door/acp/acptest"
	"fika/internal/llm/llmtest"
)

// bringing is a home whose agent calls the tool of an MCP server that it is told of: "use
// NAME" calls Editor_files__NAME. server is the program, in the only folder that both see.
func bringing(t *testing.T) (h *home, srv *llmtest.Server, server string) {
	needBubblewrap(t)
	srv = llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == "tool" {
			return llmtest.Script{llmtest.Text("it says: " + last.Text)}
		}
		_, name, _ := strings.Cut(last.Text, "use ")
		name, _, _ = strings.Cut(name, "\n")
		return llmtest.Script{llmtest.Call("c1", "Editor_files__"+name, `{"text":"hello"}`)}
	})
	h = newHome(t, openAI(srv, "")+"[guard]\nsandbox = \"required\"\n[[agents]]\nid = \"coder\"\n")
	raw, err := os.ReadFile(filepath.Join(h.dir, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	h.write("config.toml", fmt.Sprintf("workspace = %q\n%s", h.work, raw))
	program, err := exec.LookPath("mcpprog")
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	server = filepath.Join(h.work, "mcpprog") // the /tmp of the sandbox is another one
	to, err := os.OpenFile(server, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down", "--now") })
	return h, srv, server
}

// with are the parameters of a session in a folder, with one server; of a new one without an
// id.
func (h *home) with(session, server string) map[string]any {
	p := acptest.In(h.work, session)
	p["mcpServers"] = []any{map[string]any{
		"name": "Files!", "command": server, "args": []string{"ordinary", h.dir}, "env": []any{map[string]any{"name": "MCPTEST", "value": "from the editor"}},
	}}
	return p
}

// open opens a session with one server.
func (h *home) open(e *acptest.Editor, server string) string {
	h.t.Helper()
	var s struct{ SessionID string }
	if err := json.Unmarshal(e.Call("session/new", h.with("", server)), &s); err != nil || s.SessionID == "" {
		h.t.Fatalf("no session: %v", err)
	}
	return s.SessionID
}

// use has the agent call a tool, and returns what it says of the result. consent says that
// the server is asked about first.
func use(e *acptest.Editor, session, name string, consent bool) string {
	e.Helper()
	n := e.Send("session/prompt", acptest.Prompt(session, "use "+name))
	if consent {
		e.Reply(e.Until("session/request_permission", "start the MCP server files"), "allow")
	}
	e.Reply(e.Until("session/request_permission", "Editor_files__"+name), "allow")
	e.Answer(n, "session/prompt")
	return acptest.Said("agent_message_chunk", e.Seen())
}

// TestServersOfAnEditor: the MCP servers of an editor run in the sandbox, after its person has
// seen them, for the session that brings them: they outlive the process of the agent and the
// hub, and end with the session.
func TestServersOfAnEditor(t *testing.T) {
	t.Parallel()
	h, srv, server := bringing(t)
	e, kill := h.editor()
	id := h.open(e, server)

	// the person sees it all, before anything runs
	n := e.Send("session/prompt", acptest.Prompt(id, "use where"))
	l := e.Until("session/request_permission", "start the MCP server")
	ask := string(l.Params)
	has(t, "the question", ask, "files: "+server+" ordinary "+h.dir, "in the sandbox of @coder's commands, without a network", "The editor gives it MCPTEST", "Editor_files__", "Allow for this session", "allow_once", "reject_once")
	if strings.Contains(ask, "from the editor") || strings.Contains(ask, "allow_always") {
		t.Errorf("the question is %s", ask)
	}
	if h.running("mcpprog\x00ordinary") != nil {
		t.Error("it runs before anybody has agreed")
	}
	e.Reply(l, "allow")
	l = e.Until("session/request_permission", "Editor_files__where")
	if strings.Contains(string(l.Params), "allow_always") {
		t.Errorf("a tool of one session may be allowed for good: %s", l.Params)
	}
	e.Reply(l, "allow")
	e.Answer(n, "session/prompt")
	if said := acptest.Said("agent_message_chunk", e.Seen()); !strings.Contains(said, h.work+" from the editor pid ") {
		t.Errorf("it said %q", said)
	}
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	pids := h.running("mcpprog\x00ordinary", "MCPTEST=from the editor")
	if len(pids) == 0 {
		t.Error("it does not run")
	}
	for _, pid := range pids {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if strings.Contains(string(env), llmtest.Secret) {
			t.Errorf("it has a key of fika: %q", env)
		}
		if net, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err != nil || net == ours {
			t.Errorf("it has the network of the machine: %s, %v", net, err)
		}
	}
	if said := use(e, id, "echo", false); !strings.Contains(said, "hello") { // which says that it only reads, and asks all the same
		t.Errorf("echo: %q", said)
	}

	// it ends in the middle of a call, and is started again
	if said := use(e, id, "crash", false); !strings.Contains(said, "may or may not have happened") {
		t.Errorf("crash: %q", said)
	}
	if said := use(e, id, "write", false); !strings.Contains(said, "it says") { // of a file in no folder
		t.Errorf("write: %q", said)
	}

	// another session of the same agent has none of it
	other := e.Begin(h.work)
	before := len(srv.Requests())
	n = e.Send("session/prompt", acptest.Prompt(other, "use echo"))
	e.Answer(n, "session/prompt")
	if said := acptest.Said("agent_message_chunk", e.Seen()); !strings.Contains(said, "Editor_files__echo cannot be called: it belongs to an MCP server of an editor") {
		t.Errorf("elsewhere: %q", said)
	}
	for _, r := range srv.Requests()[before:] {
		for _, x := range r.Tools {
			if strings.HasPrefix(x.Name, "Editor_") {
				t.Errorf("elsewhere it is offered %s", x.Name)
			}
		}
	}

	// the agent is killed: its servers go with it, and the next turn has them again
	if h.killAll("agent\x00run") == 0 {
		t.Fatal("no agent runs")
	}
	if said := use(e, id, "echo", false); !strings.Contains(said, "hello") {
		t.Errorf("after its agent was killed: %q", said)
	}
	h.run(0, "down", "--now")
	h.run(0, "up")
	if said := use(e, id, "echo", false); !strings.Contains(said, "hello") {
		t.Errorf("after the hub was ended: %q", said)
	}

	// the editor is gone in the middle of a call
	e.Send("session/prompt", acptest.Prompt(id, "use slow"))
	e.Reply(e.Until("session/request_permission", "Editor_files__slow"), "allow")
	if !eventually(func() bool { return strings.Contains(h.log("mcp-Editor_files"), "slow was called") }) {
		t.Fatalf("it was not called: %s", h.log("mcp-Editor_files"))
	}
	kill()
	if !eventually(func() bool { return h.running("mcpprog\x00ordinary") == nil }) {
		t.Error("it outlives the editor")
	}
	if !eventually(func() bool {
		out, _ := h.run(0, "conversation", "show", id)
		return strings.Contains(out, "its MCP servers are gone")
	}) {
		out, _ := h.run(0, "conversation", "show", id)
		t.Errorf("the call ends with\n%s", out)
	}
	e, _ = h.editor()
	e.Call("session/load", h.with(id, server))
	e.Seen()
	if said := use(e, id, "echo", true); !strings.Contains(said, "hello") { // asked again
		t.Errorf("loaded: %q", said)
	}
	e.Call("session/close", map[string]any{"sessionId": id})
	if !eventually(func() bool { return h.running("mcpprog\x00ordinary") == nil }) {
		t.Error("it outlives the session")
	}

	// a call is allowed when the editor has left: the agent is told that there is nothing to call
	e, kill = h.editor()
	e.Call("session/load", h.with(id, server))
	e.Send("session/prompt", acptest.Prompt(id, "use where"))
	e.Reply(e.Until("session/request_permission", "start the MCP server files"), "allow")
	e.Until("session/request_permission", "Editor_files__where")
	kill()
	if !eventually(func() bool { return h.running("mcpprog\x00ordinary") == nil }) {
		t.Error("it outlives the editor that was killed while it asked")
	}
	list, _ := h.run(0, "approve")
	h.run(0, "approve", strings.Fields(list)[0])
	if !eventually(func() bool {
		out, _ := h.run(0, "conversation", "show", id)
		return strings.Contains(out, "it says: Editor_files__where cannot be called: it belongs to an MCP server of an editor")
	}) {
		out, _ := h.run(0, "conversation", "show", id)
		t.Errorf("allowed too late:\n%s", out)
	}
}

// TestServersNobodyAllows: a server that the person refuses is never started, and the work
// goes on without it. One that cannot be started is told to the person.
func TestServersNobodyAllows(t *testing.T) {
	t.Parallel()
	h, srv, server := bringing(t)
	e, _ := h.editor()
	id := h.open(e, server)
	n := e.Send("session/prompt", acptest.Prompt(id, "use echo"))
	e.Reply(e.Until("session/request_permission", "start the MCP server"), "reject")
	e.Answer(n, "session/prompt")
	said := acptest.Said("agent_message_chunk", e.Seen())
	has(t, "refused", said, "without the MCP servers that you have not allowed: files", "cannot be called")
	if h.running("mcpprog\x00ordinary") != nil {
		t.Error("it runs")
	}

	// cancelled: nothing was said to the agent, and the next prompt asks again
	id = h.open(e, server)
	n = e.Send("session/prompt", acptest.Prompt(id, "use echo"))
	e.Until("session/request_permission", "start the MCP server")
	e.Cancel(id)
	if l := e.Answer(n, "session/prompt"); !strings.Contains(string(l.Result), "cancelled") {
		t.Errorf("cancelled: %s", l.Result)
	}
	e.Seen()
	if said := use(e, id, "echo", true); !strings.Contains(said, "hello") {
		t.Errorf("asked again: %q", said)
	}

	id = h.open(e, filepath.Join(h.work, "nothing"))
	n = e.Send("session/prompt", acptest.Prompt(id, "use echo"))
	e.Reply(e.Until("session/request_permission", "start the MCP server"), "allow")
	e.Answer(n, "session/prompt")
	e.Call("session/list", map[string]any{})
	has(t, "what cannot be started", acptest.Said("agent_message_chunk", e.Seen()), "MCP server files: it is not used:")

	// one with too many tools is not used, and many servers are searched
	p, list := h.with("", server), []any{}
	for i, how := range []string{"many", "typical", "typical", "typical"} {
		list = append(list, map[string]any{"name": fmt.Sprint(how, i), "command": server, "args": []string{how}, "env": []any{}})
	}
	p["mcpServers"] = list
	var s struct{ SessionID string }
	if err := json.Unmarshal(e.Call("session/new", p), &s); err != nil {
		t.Fatal(err)
	}
	n = e.Send("session/prompt", acptest.Prompt(s.SessionID, "use nothing"))
	for range list {
		e.Reply(e.Until("session/request_permission", "start the MCP server"), "allow")
	}
	e.Answer(n, "session/prompt")
	e.Call("session/list", map[string]any{})
	has(t, "too many", acptest.Said("agent_message_chunk", e.Seen()), "MCP server many0: it is not used: it has 3")
	offered := srv.Requests()
	tools := ""
	for _, x := range offered[len(offered)-1].Tools {
		tools += x.Name + " "
	}
	if !strings.Contains(tools, "tool_search") || strings.Contains(tools, "Editor_") {
		t.Errorf("it is offered %s", tools)
	}
}

// log returns the log of a part of the home.
func (h *home) log(name string) string {
	raw, _ := os.ReadFile(filepath.Join(h.dir, "run", "logs", name+".log"))
	return string(raw)
}
