package acptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
)

// Editor is a client that holds every message of the door against the schema. Whatever is
// wrong fails the test. It is for one goroutine.
type Editor struct {
	testing.TB
	schema *Schema
	in     io.Writer
	lines  *bufio.Scanner
	n      int
	seen   []Line // what came beside answers and was not asked for yet
}

// Line is a message of the door.
type Line struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
	}
}

// Open returns an editor that writes to the door and reads from it, and has said hello.
func Open(t testing.TB, in io.Writer, out io.Reader) *Editor {
	t.Helper()
	e := &Editor{TB: t, schema: ReadSchema(t), in: in, lines: bufio.NewScanner(out)}
	e.lines.Buffer(nil, 64<<20)
	e.Call("initialize", map[string]any{"protocolVersion": 1})
	return e
}

// Next reads one line.
func (e *Editor) Next() (l Line) {
	e.Helper()
	if !e.lines.Scan() {
		e.Fatalf("the door has closed its output: %v", e.lines.Err())
	}
	if err := json.Unmarshal(e.lines.Bytes(), &l); err != nil || l.JSONRPC != "2.0" {
		e.Fatalf("no message: %.200q", e.lines.Bytes())
	}
	if l.Method == "" {
		return l
	}
	kind := asked()[l.Method]
	if kind == "" {
		e.Fatalf("a method that no editor knows: %s", l.Method)
	}
	if err := e.schema.Check(kind, l.Params); err != nil {
		e.Errorf("%s: %v\n%.500s", l.Method, err, l.Params)
	}
	return l
}

// Write sends a line as it is.
func (e *Editor) Write(line string) {
	e.Helper()
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.Fatal(err)
	}
}

// Send sends a request and returns its id.
func (e *Editor) Send(method string, params any) string {
	e.Helper()
	e.n++
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": e.n, "method": method, "params": params})
	if err != nil {
		e.Fatal(err)
	}
	e.Write(string(raw))
	return strconv.Itoa(e.n)
}

// Answer reads until the answer to a request comes.
func (e *Editor) Answer(id, method string) Line {
	e.Helper()
	for {
		l := e.Next()
		if l.Method != "" {
			e.seen = append(e.seen, l)
			continue
		}
		if string(l.ID) != id {
			e.Fatalf("the answer to %s, and not to %s: %+v", l.ID, id, l)
		}
		if kind := answers()[method]; l.Error == nil && kind != "" {
			if err := e.schema.Check(kind, l.Result); err != nil {
				e.Errorf("the answer to %s: %v\n%s", method, err, l.Result)
			}
		}
		return l
	}
}

// Call does a request that has to work.
func (e *Editor) Call(method string, params any) json.RawMessage {
	e.Helper()
	l := e.Answer(e.Send(method, params), method)
	if l.Error != nil {
		e.Fatalf("%s: %+v", method, *l.Error)
	}
	return l.Result
}

// Refused does a request that has to fail with a code.
func (e *Editor) Refused(method string, params any, code int) {
	e.Helper()
	l := e.Answer(e.Send(method, params), method)
	if l.Error == nil || l.Error.Code != code {
		e.Errorf("%s %v: %+v %s, not %d", method, params, l.Error, l.Result, code)
	}
}

// Begin begins a session in a folder.
func (e *Editor) Begin(dir string) string {
	e.Helper()
	var s struct{ SessionID string }
	if err := json.Unmarshal(e.Call("session/new", In(dir, "")), &s); err != nil || s.SessionID == "" {
		e.Fatalf("no session: %v", err)
	}
	return s.SessionID
}

// In are the parameters of a session in a folder; of a new one without an id.
func In(dir, session string) map[string]any {
	p := map[string]any{"cwd": dir, "mcpServers": []any{}}
	if session != "" {
		p["sessionId"] = session
	}
	return p
}

// Prompt are the parameters of a prompt.
func Prompt(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// Cancel asks the turn of a session to end.
func (e *Editor) Cancel(session string) {
	e.Helper()
	e.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, session))
}

// Reply answers a request of the door.
func (e *Editor) Reply(to Line, option string) {
	e.Helper()
	e.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, to.ID, option))
}

// Until reads until the editor is told something that holds the texts, in whatever came
// beside answers and was not returned yet.
func (e *Editor) Until(texts ...string) Line {
	e.Helper()
	holds := func(l Line) bool {
		for _, text := range texts {
			if !strings.Contains(l.Method+string(l.Params), text) {
				return false
			}
		}
		return true
	}
	for i, l := range e.seen {
		if holds(l) {
			e.seen = e.seen[i+1:]
			return l
		}
	}
	e.seen = nil
	for {
		l := e.Next()
		if l.Method == "" {
			e.Fatalf("before %q comes an answer: %+v", texts, l)
		}
		if holds(l) {
			return l
		}
	}
}

// Seen returns what came beside answers since it was asked for last.
func (e *Editor) Seen() []Line {
	out := e.seen
	e.seen = nil
	return out
}

// Said joins the text of messages of one kind: agent_message_chunk, user_message_chunk.
func Said(kind string, lines []Line) (out string) {
	for _, l := range lines {
		var n struct {
			Update struct {
				SessionUpdate string
				Content       struct{ Text string }
			}
		}
		if json.Unmarshal(l.Params, &n) == nil && n.Update.SessionUpdate == kind {
			out += n.Update.Content.Text
		}
	}
	return out
}
