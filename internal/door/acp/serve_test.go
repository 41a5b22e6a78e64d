package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/door/acp"
	"fika/internal/door/acp/acptest"
	"fika/internal/extension/editor"
	"fika/internal/extension/jsonrpc"
	"fika/internal/service"
	"fika/internal/text/words"
)

// world is a home with two agents that nobody runs.
type world struct {
	*testing.T
	person *service.Service
	dir    string // where @coder works
	lends  bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"config.toml": "model = \"m\"\nusername = \"anna\"\n[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n" +
			"[[agents]]\nid = \"coder\"\nworkspace = \"" + dir + "\"\n[[agents]]\nid = \"tester\"\n",
		"rules.toml": "",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() { _ = a.Close() })
	c, err := service.Open(t.Context(), a, api.Principal{Kind: api.Person, Name: "anna", Door: api.DoorACP})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, c, dir, false}
}

// connect starts a door with an editor.
func (w *world) connect() *acptest.Editor {
	w.Helper()
	from, in := io.Pipe()
	to, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := acp.Serve(w.Context(), from, out, acp.Options{
			Open: func(context.Context, string) (*acp.Home, error) {
				h := &acp.Home{
					Service: service.Door(w.person), Ready: func(context.Context, bool) {}, Agent: "coder",
					Address: func(agent, text string) string { return "@" + agent + " " + text },
				}
				if w.lends {
					h.Lend = func(string, []editor.Server, func(string)) (io.Closer, error) {
						return nil, errors.New("nobody was asked")
					}
				}
				return h, nil
			},
			Dir: w.dir, Warn: func(string) {}, Version: "1", Words: func(s api.Status) string { return words.Say(s, time.Now()) },
		})
		_ = out.Close()
		ended <- err
	}()
	w.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, to)
		if err := <-ended; err != nil {
			w.Errorf("the door ends with %v", err)
		}
	})
	return acptest.Open(w.T, in, to)
}

func (w *world) post(session string, n int, text func(int) string) {
	w.Helper()
	conv, err := w.person.Chats.Find(w.Context(), session)
	for i := 0; i < n && err == nil; i++ {
		_, err = w.person.Chats.Send(w.Context(), conv, text(i), service.Alias{})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// TestServersOfTheEditor: what an editor brings and nobody can use is named with the reason,
// where its person reads it, once; nothing of it is asked about. Nobody but a person's editor
// brings any.
func TestServersOfTheEditor(t *testing.T) {
	w := newWorld(t)
	for _, person := range []bool{false, true} {
		w.lends = person
		e := w.connect()
		files := map[string]any{"name": "files\u001b[2J", "command": "/bin/files", "args": []string{"--token", "hunter2"}, "env": []any{}}
		servers := []any{map[string]any{"type": "http", "name": "github", "url": "https://example.org/mcp", "headers": []any{}}}
		want := "not used: github (http: only programs are used, not addresses)"
		if !person {
			servers = append(servers, files)
			want += ", files (only a person's editor brings any)"
		}
		var got struct{ SessionID string }
		if err := json.Unmarshal(e.Call("session/new", map[string]any{"cwd": w.dir, "mcpServers": servers}), &got); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"", "session/load"} {
			if method != "" {
				e.Call(method, map[string]any{"cwd": w.dir, "sessionId": got.SessionID, "mcpServers": servers})
			}
			before := len(acptest.Said("agent_message_chunk", e.Seen()))
			e.Call("session/prompt", acptest.Prompt(got.SessionID, "/why"))
			e.Call("session/prompt", acptest.Prompt(got.SessionID, "/why"))
			said := acptest.Said("agent_message_chunk", e.Seen())[before:]
			if strings.Count(said, want) != 1 || strings.Contains(said, "hunter2") {
				t.Errorf("%s: it said %q, not %q", method, said, want)
			}
		}
		e.Call("session/close", map[string]any{"sessionId": got.SessionID})
	}
}

// TestTurn: a turn goes on until it is cancelled, what others say in the chat appears, a
// second prompt is refused, and the session can be listed and loaded again.
func TestTurn(t *testing.T) {
	w := newWorld(t)
	e := w.connect()
	id := e.Begin(w.dir)
	e.Until("available_commands_update")
	first := e.Send("session/prompt", acptest.Prompt(id, "sesame\u2028\x00 please"))
	e.Until("session_info_update")
	e.Refused("session/prompt", acptest.Prompt(id, "another"), -32600)
	w.post(id, 1, func(int) string { return "from a terminal" })
	e.Until("from a terminal", "user_message_chunk")
	e.Cancel(id)
	if l := e.Answer(first, "session/prompt"); !strings.Contains(string(l.Result), `"cancelled"`) {
		t.Errorf("cancelled: %+v %s", l.Error, l.Result)
	}
	if l := e.Call("session/prompt", acptest.Prompt(id, "/why")); !strings.Contains(string(l), "end_turn") {
		t.Errorf("a command ends with %s", l)
	}
	e.Until("Nothing runs")
	if got := e.Call("session/list", map[string]any{"cwd": w.dir}); !strings.Contains(string(got), id) || !strings.Contains(string(got), "sesame") {
		t.Errorf("the sessions are %s", got)
	}
	e.Call("session/close", map[string]any{"sessionId": id})
	e.Refused("session/prompt", acptest.Prompt(id, "x"), -32002)
	e = w.connect()
	e.Call("session/load", acptest.In(w.dir, id))
	if said := acptest.Said("user_message_chunk", e.Seen()); !strings.HasPrefix(said, "@coder sesame") || !strings.HasSuffix(said, "pleasefrom a terminal") {
		t.Errorf("loaded: %q", said)
	}
	if got := e.Call("session/set_config_option", map[string]any{"sessionId": id, "configId": "agent", "value": "coder"}); !strings.Contains(string(got), `"currentValue":"coder"`) {
		t.Errorf("the options are %s", got)
	}
}

// TestRefused: what is malformed, huge, unknown or about nothing is refused with the
// protocol's own errors, and nothing is begun.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	e := w.connect()
	for text, code := range map[string]int{
		"noise": -32700, "[1]": -32600, `{"id":1,"method":"initialize"}`: -32600, `{"jsonrpc":"2.0","id":{},"method":"x"}`: -32600,
		`{"jsonrpc":"2.0","id":null,"result":7}`: -32600, strings.Repeat("x", jsonrpc.MaxLine+10): -32600,
	} {
		e.Write(text)
		if l := e.Next(); l.Error == nil || l.Error.Code != code || string(l.ID) != "null" {
			t.Errorf("%.80q: %+v, not %d", text, l, code)
		}
	}
	e.Write(`{"jsonrpc":"2.0","id":99,"result":{}}`)                      // nobody has asked
	e.Write(`{"jsonrpc":"2.0","method":"$/cancel_request","params":7}`)   // of nothing
	e.Write(`{"jsonrpc":"2.0","method":"no/such/notification"}`)          // ignored
	e.Write(`{"jsonrpc":"2.0","method":"session/cancel","params":"all"}`) // ignored
	e.Refused("no/such", map[string]any{}, -32601)
	e.Refused("session/new", acptest.In("relative", ""), -32602)
	e.Refused("session/new", "x", -32602)
	e.Refused("session/new", acptest.In(filepath.Dir(w.dir), ""), -32600) // the agent works elsewhere
	e.Refused("session/prompt", acptest.Prompt("s-none", "x"), -32002)
	for _, name := range []string{"s-none", "../x"} {
		e.Refused("session/load", acptest.In(w.dir, name), -32002)
	}
	if _, err := w.person.Chats.Create(t.Context(), "room"); err != nil {
		t.Fatal(err)
	}
	e.Refused("session/load", acptest.In(w.dir, "room"), -32002) // not a session
	id := e.Begin(w.dir)
	for _, blocks := range []any{[]any{}, []any{map[string]any{"type": "text", "text": " "}}, []any{map[string]any{"type": "image", "data": "x", "mimeType": "image/png"}}} {
		e.Refused("session/prompt", map[string]any{"sessionId": id, "prompt": blocks}, -32602)
	}
	e.Refused("session/set_config_option", map[string]any{"sessionId": id, "configId": "model", "value": "x"}, -32602)
	e.Refused("session/set_config_option", map[string]any{"sessionId": id, "configId": "agent", "value": "nobody"}, -32602)
	e.Refused("session/set_config_option", map[string]any{"sessionId": id, "configId": "agent", "value": "tester"}, -32600) // works elsewhere
	if list, err := w.person.Requests.List(t.Context(), service.RequestFilter{}); err != nil || len(list) != 0 {
		t.Errorf("begun: %+v, %v", list, err)
	}
}

// TestLongSession: a session of thousands of entries is loaded whole and in order.
func TestLongSession(t *testing.T) {
	w := newWorld(t)
	e := w.connect()
	id := e.Begin(w.dir)
	n := 5000
	if testing.Short() {
		n = 200
	}
	e.Call("session/close", map[string]any{"sessionId": id})
	want := ""
	w.post(id, n, func(i int) string {
		text := fmt.Sprintf("entry <%d>", i)
		want += text
		return text
	})
	e.Seen()
	e.Call("session/load", acptest.In(w.dir, id))
	if got := acptest.Said("user_message_chunk", e.Seen()); got != want {
		t.Errorf("loaded %d of %d bytes", len(got), len(want))
	}
}

// TestSchemaSeesMistakes: the schema refuses what it is there to refuse.
func TestSchemaSeesMistakes(t *testing.T) {
	s := acptest.ReadSchema(t)
	for name, value := range map[string]string{
		"PromptResponse":           `{"stopReason":"stop"}`,
		"NewSessionResponse":       `{"sessionId":7}`,
		"SessionNotification":      `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk"}}`,
		"RequestPermissionRequest": `{"sessionId":"s","toolCall":{},"options":[]}`,
	} {
		if s.Check(name, json.RawMessage(value)) == nil {
			t.Errorf("%s may be %s", name, value)
		}
	}
}
