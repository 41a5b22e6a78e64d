package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika/internal/api"
	"fika/internal/app"
	door "fika/internal/door/mcp"
	"fika/internal/service"
	"fika/internal/text/words"
)

// world is a home with two agents that nobody runs: what is asked stays as it was asked.
type world struct {
	*testing.T
	person *service.Service
	ready  chan struct{} // a token each time that a hub was wanted
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"config.toml": "model = \"m\"\nusername = \"anna\"\n[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n" +
			"[[agents]]\nid = \"coder\"\ndescription = \"writes\"\n[[agents]]\nid = \"tester\"\n",
		"rules.toml": "",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() { _ = a.Close() })
	c, err := service.Open(t.Context(), a, api.Principal{Kind: api.Person, Name: "anna", Door: api.DoorMCP})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, c, make(chan struct{}, 1000)}
}

// program is the principal of a program that a person runs.
func program(name string) api.Principal {
	return api.Principal{Kind: api.Program, Name: name, Door: api.DoorMCP, Agents: []string{"*"}, Most: api.Manages, For: "anna"}
}

// client is a client of a server of its own.
type client struct {
	*sdk.ClientSession
	*world
	ended    chan error
	progress chan string
}

// connect starts a server and a client of some name.
func (w *world) connect(name string) *client {
	w.Helper()
	fromClient, in := io.Pipe()
	fromServer, out := io.Pipe()
	c := &client{world: w, ended: make(chan error, 1), progress: make(chan string, 1000)}
	go func() {
		c.ended <- door.Serve(w.Context(), fromClient, out, door.Options{
			As:    func(name string) api.Service { return service.Door(w.person.As(program(name))) },
			Ready: func(context.Context, bool) { w.ready <- struct{}{} }, Version: "1",
			Words: func(s api.Status) string { return words.Say(s, time.Now()) }, Wait: time.Minute, Progress: time.Millisecond,
		})
		_ = out.Close()
	}()
	var err error
	c.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			select {
			case c.progress <- r.Params.Message:
			default:
			}
		},
	}).Connect(w.Context(), &sdk.IOTransport{Reader: fromServer, Writer: in}, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = in.Close()
		if err := <-c.ended; err != nil {
			w.Errorf("the server ends with %v", err)
		}
	})
	return c
}

// call calls a tool, and reads its structured result into out if it is not an error.
func (c *client) call(ctx context.Context, tool string, args map[string]any, out any) *sdk.CallToolResult {
	c.Helper()
	p := &sdk.CallToolParams{Name: tool, Arguments: args}
	p.SetProgressToken("t")
	r, err := c.CallTool(ctx, p)
	if err != nil {
		c.Fatalf("%s: %v", tool, err)
	}
	if out != nil {
		if r.IsError {
			c.Fatalf("%s: %s", tool, text(r))
		}
		raw, _ := json.Marshal(r.StructuredContent)
		if err := json.Unmarshal(raw, out); err != nil {
			c.Fatal(err)
		}
	}
	return r
}

func text(r *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// TestAskedAgain: the same work that has not ended is one request, whoever lost the
// answer; other work, and the same after the end, is another.
func TestAskedAgain(t *testing.T) {
	w := newWorld(t)
	c, ctx := w.connect("claude-code"), t.Context()
	ask := func(c *client, args map[string]any) (out door.Work) {
		args["wait_s"] = 0
		c.call(ctx, "ask", args, &out)
		return out
	}
	first := ask(c, map[string]any{"agent": "@coder", "prompt": "sesame"})
	if first.Ended || first.State != "open" || first.Agent != "coder" || first.Repeat {
		t.Errorf("asked: %+v", first)
	}
	if again := ask(c, map[string]any{"agent": "coder", "prompt": "sesame"}); again.Request != first.Request || !again.Repeat {
		t.Errorf("asked again: %+v, not %s", again, first.Request)
	}
	if again := ask(w.connect("claude-code"), map[string]any{"agent": "coder", "prompt": "sesame"}); again.Request != first.Request {
		t.Errorf("asked again by the program after it was restarted: %+v", again)
	}
	for what, other := range map[string]door.Work{
		"another prompt":  ask(c, map[string]any{"agent": "coder", "prompt": "sesame!"}),
		"another agent":   ask(c, map[string]any{"agent": "tester", "prompt": "sesame"}),
		"another program": ask(w.connect("codex"), map[string]any{"agent": "coder", "prompt": "sesame"}),
		"a key":           ask(c, map[string]any{"agent": "coder", "prompt": "sesame", "key": "k"}),
	} {
		if other.Request == first.Request || other.Repeat {
			t.Errorf("%s: %+v", what, other)
		}
	}
	var ended door.Work
	if r := c.call(ctx, "cancel", map[string]any{"request": first.Request}, nil); !r.IsError || !strings.Contains(text(r), "cancelled") {
		t.Errorf("cancelled: %s", text(r))
	}
	ended = ask(c, map[string]any{"agent": "coder", "prompt": "sesame"})
	if ended.Request == first.Request || ended.Repeat {
		t.Errorf("asked again after the end: %+v", ended)
	}
	if again := ask(c, map[string]any{"agent": "coder", "prompt": "sesame"}); again.Request != ended.Request {
		t.Errorf("and once more: %+v, not %s", again, ended.Request)
	}
	if len(w.ready) == 0 {
		t.Error("nobody was asked to work")
	}
}

// TestWhoAsks: a program that a person runs asks with the agent's own tools, under its own
// name, tainted; and answers no approval, because there is no tool for it.
func TestWhoAsks(t *testing.T) {
	w := newWorld(t)
	c, ctx := w.connect("claude-code"), t.Context()
	var out door.Work
	c.call(ctx, "start", map[string]any{"agent": "coder", "prompt": "sesame"}, &out)
	list, err := w.person.Requests.List(ctx, service.RequestFilter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if q := list[0]; string(q.ID) != out.Request || q.Rights != nil || q.Taint == "" || q.Payload.From != "claude-code" || q.Payload.Sender != "claude-code" {
		t.Errorf("asked: %+v", q)
	}
	if err := service.Door(w.person.As(program("claude-code"))).Answer(ctx, 1, api.Answer{Allow: true}, api.Write{}); api.CodeOf(err) != api.Denied {
		t.Errorf("a program answers an approval: %v", err)
	}
	tools, err := c.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if tool.OutputSchema == nil || tool.Annotations == nil {
			t.Errorf("%s has no output schema or no annotations", tool.Name)
		}
	}
	slices.Sort(names)
	if want := []string{"agents", "ask", "cancel", "read", "send", "start", "status"}; !slices.Equal(names, want) {
		t.Errorf("the tools are %v", names)
	}
	for what, args := range map[string]map[string]any{
		"nobody by that name": {"agent": "nobody", "prompt": "x"},
		"no prompt":           {"agent": "coder"},
		"an unknown argument": {"agent": "coder", "prompt": "x", "tools": []string{"bash"}},
		"too much":            {"agent": "coder", "prompt": strings.Repeat("x", 1<<20)},
	} {
		if r, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "ask", Arguments: args}); err == nil && !r.IsError {
			t.Errorf("%s: %s", what, text(r))
		}
	}
	if list, err := w.person.Requests.List(ctx, service.RequestFilter{}); err != nil || len(list) != 1 {
		t.Errorf("begun: %+v, %v", list, err)
	}
}

// TestWaiting: who waits is told that work goes on. A client that leaves, or gives up a
// call, ends nothing: who else waits gets the end.
func TestWaiting(t *testing.T) {
	w := newWorld(t)
	one, two, ctx := w.connect("claude-code"), w.connect("claude-code"), t.Context()
	var asked door.Work
	one.call(ctx, "start", map[string]any{"agent": "coder", "prompt": "sesame"}, &asked)
	short, giveUp := context.WithCancel(ctx)
	gone := make(chan error, 1)
	go func() {
		p := &sdk.CallToolParams{Name: "status", Arguments: map[string]any{"request": asked.Request, "wait_s": 40}}
		p.SetProgressToken("a")
		_, err := one.CallTool(short, p)
		gone <- err
	}()
	<-one.progress
	ended := make(chan *sdk.CallToolResult, 1)
	go func() {
		p := &sdk.CallToolParams{Name: "status", Arguments: map[string]any{"request": asked.Request, "wait_s": 40}}
		p.SetProgressToken("b")
		r, err := two.CallTool(ctx, p)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	for range 3 { // as long as it goes on
		if told := <-two.progress; !strings.Contains(told, "coder") {
			t.Errorf("told: %q", told)
		}
	}
	giveUp()
	if err := <-gone; err == nil {
		t.Error("a call that was given up has an answer")
	}
	var now door.Work
	two.call(ctx, "status", map[string]any{"request": asked.Request}, &now)
	if now.Ended {
		t.Errorf("after one has given up: %+v", now)
	}
	if err := service.Door(w.person).Cancel(ctx, asked.Request, "enough", api.Write{}); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r == nil || !strings.Contains(text(r), "cancelled") || !r.IsError {
		t.Errorf("the end: %+v", r)
	}
}

// TestEndOfInput: with its input a server ends, also while somebody waits, and the work
// goes on. What is no message is refused, and the session goes on.
func TestEndOfInput(t *testing.T) {
	w := newWorld(t)
	var out strings.Builder
	lines := strings.Join([]string{
		`noise`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`[1]`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"no/such"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask","arguments":{"agent":"coder","prompt":"\u2028 \u0000 sesame"}}}`,
	}, "\n") + "\n"
	err := door.Serve(t.Context(), strings.NewReader(lines), &out, door.Options{
		As: func(name string) api.Service { return service.Door(w.person.As(program(name))) }, Version: "1",
	})
	if err != nil {
		t.Errorf("it ends with %v", err)
	}
	answers := map[string]string{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			JSONRPC string
			ID      json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			t.Errorf("on stdout: %q", line)
		}
		answers[string(m.ID)] = line
	}
	if !strings.Contains(answers["1"], `"fika"`) || !strings.Contains(answers["2"], "-32601") || !strings.Contains(answers["null"], "-32600") || !strings.Contains(answers["3"], "still working") {
		t.Errorf("the answers are %v", answers)
	}
	if list, err := w.person.Requests.List(t.Context(), service.RequestFilter{}); err != nil || len(list) != 1 || list[0].State != "open" {
		t.Errorf("afterwards: %+v, %v", list, err)
	}
}

// TestReading: a conversation is read page by page, as a tool and as a resource.
func TestReading(t *testing.T) {
	w := newWorld(t)
	c, ctx := w.connect("claude-code"), t.Context()
	if _, err := w.person.Chats.Create(ctx, "room"); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ö", 40<<10)
	for _, said := range []string{"one", "two", long, long, "five"} {
		var sent door.Sent
		c.call(ctx, "send", map[string]any{"chat": "room", "text": said}, &sent)
		if len(sent.Notify) != 0 {
			t.Errorf("sent: %+v", sent)
		}
	}
	var got []string
	for since, n := int64(0), 0; n < 10; n++ {
		var said door.Said
		c.call(ctx, "read", map[string]any{"conversation": "room", "since": since, "limit": 2}, &said)
		for _, e := range said.Entries {
			if e.From != "claude-code" {
				t.Errorf("from %q", e.From)
			}
			got = append(got, e.Text)
		}
		if since = said.Next; !said.More {
			break
		}
	}
	if len(got) != 5 || got[0] != "one" || got[4] != "five" || !strings.HasPrefix(long, got[2]) || len(got[2]) < 60<<10 {
		t.Errorf("read %d entries", len(got))
	}
	var sent, again door.Sent
	c.call(ctx, "send", map[string]any{"chat": "room", "text": "@coder hello", "key": "k"}, &sent)
	c.call(ctx, "send", map[string]any{"chat": "room", "text": "@coder hello", "key": "k"}, &again)
	if again.Seq != sent.Seq || !again.Repeat || !slices.Equal(sent.Notify, []string{"coder"}) {
		t.Errorf("sent %+v, again %+v", sent, again)
	}
	r, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: "fika://conversation/room?since=4"})
	if err != nil || !strings.Contains(r.Contents[0].Text, "five") || strings.Contains(r.Contents[0].Text, `"one"`) {
		t.Errorf("a conversation: %+v, %v", r, err)
	}
	r, err = c.ReadResource(ctx, &sdk.ReadResourceParams{URI: "fika://agent/coder"})
	if err != nil || !strings.Contains(r.Contents[0].Text, "writes") {
		t.Errorf("an agent: %+v, %v", r, err)
	}
	for _, uri := range []string{"fika://agent/nobody", "fika://conversation/none", "fika://agent/", "fika://conversation/../x", "file:///etc/passwd"} {
		if r, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s: %+v", uri, r)
		}
	}
	var agents door.Agents
	c.call(ctx, "agents", nil, &agents)
	if len(agents.Agents) != 2 || agents.Agents[0].Name != "coder" {
		t.Errorf("the agents are %+v", agents)
	}
}
