package guest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/extension/jsonrpc"
	"fika/internal/system/socket"
	"fika/internal/tool"
)

const (
	// tableName is the name of the MCP server that a program finds fika's tools at.
	tableName = "fika"
	// tokenVar is the variable with which the server's process shows who started it.
	tokenVar = "FIKA_TABLE_TOKEN"
	// maxGuests is how many connections a program may have at once.
	maxGuests = 16
	// tellEvery is how often a client that asks for progress is told that a call goes on.
	tellEvery = 8 * time.Second
)

// Table is a socket at which a program finds fika's own tools, for one session: the process
// that the program starts as an MCP server ([Bridge]) passes on what is said. What is called
// is called by the request that the session is prompted with, and by nobody between two.
type Table struct {
	// Path is where the socket is.
	Path string

	listener net.Listener
	token    string
	tools    []tool.Spec
	call     func(ctx context.Context, name string, args json.RawMessage) (tool.Result, error)
	serving  sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// NewTable makes the socket in a folder that only its owner and the program can see. The
// caller must close it.
func NewTable(dir string) (*Table, error) {
	path := filepath.Join(dir, "table-"+rand.Text()[:8])
	l, err := socket.Listen(path)
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "make the socket of a guest", err)
	}
	return &Table{Path: path, listener: l, token: rand.Text(), open: map[net.Conn]bool{}}, nil
}

// server returns the entry of mcpServers that names the table, for a client of the Agent
// Client Protocol. program is that of fika.
func (t *Table) server(program string) json.RawMessage {
	raw, err := json.Marshal(map[string]any{
		"name": tableName, "command": program, "args": []string{"mcp", "bridge", t.Path},
		"env": []map[string]string{{"name": tokenVar, "value": t.token}},
	})
	if err != nil {
		return nil // texts cannot fail
	}
	return raw
}

// serve answers at the socket until Close.
func (t *Table) serve(tools []tool.Spec, call func(context.Context, string, json.RawMessage) (tool.Result, error)) {
	t.tools, t.call = tools, call
	t.serving.Go(func() {
		for {
			c, err := t.listener.Accept()
			if err != nil {
				return
			}
			if t.take(c) {
				t.serving.Go(func() { t.talk(c) })
			} else {
				c.Close()
			}
		}
	})
}

func (t *Table) take(c net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.open) >= maxGuests {
		return false
	}
	t.open[c] = true
	return true
}

// Close ends all connections, and waits for what they have begun. It may be called twice.
func (t *Table) Close() {
	t.listener.Close()
	t.mu.Lock()
	t.closed = true
	for c := range t.open {
		c.Close()
	}
	t.mu.Unlock()
	t.serving.Wait()
	os.Remove(t.Path)
}

// talk answers one connection, which begins with the token in a line.
func (t *Table) talk(c net.Conn) {
	defer func() {
		c.Close()
		t.mu.Lock()
		delete(t.open, c)
		t.mu.Unlock()
	}()
	given := make([]byte, len(t.token)+1)
	_ = c.SetReadDeadline(time.Now().Add(startTime)) // fails only when it is closed, as the read then does
	if _, err := io.ReadFull(c, given); err != nil || subtle.ConstantTimeCompare(given, []byte(t.token+"\n")) != 1 {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &seat{t, jsonrpc.New(c)}
	_ = s.conn.Serve(ctx, c, s.do, func(m string) bool { return m != "tools/call" })
}

// seat is one connection of a table: a server of the Model Context Protocol, of its
// revisions that begin with initialize. Clients of later ones fall back to it.
type seat struct {
	*Table
	conn *jsonrpc.Conn
}

// revisions are those that are spoken, the one that is offered to others first.
func revisions() []string { return []string{"2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"} }

type object = map[string]any

// do answers a request.
func (s *seat) do(ctx context.Context, method string, raw json.RawMessage) (any, error) {
	switch method {
	case "initialize":
		var p struct {
			Revision string `json:"protocolVersion"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, jsonrpc.Invalid("the parameters cannot be read: " + err.Error())
		}
		if !slices.Contains(revisions(), p.Revision) {
			p.Revision = revisions()[0]
		}
		return object{
			"protocolVersion": p.Revision, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "fika", "version": "1"},
			"instructions": "Tools of the table that you work at with other agents. Each call is made by the request that you work on now.",
		}, nil
	case "ping":
		return object{}, nil
	case "tools/list":
		list := []object{}
		for _, t := range s.tools {
			readOnly := t.Effect == fika.Pure
			list = append(list, object{"name": t.Name, "description": t.Description, "inputSchema": t.Parameters, "annotations": object{"readOnlyHint": readOnly, "openWorldHint": false}})
		}
		return object{"tools": list}, nil
	case "tools/call":
		return s.answer(ctx, raw)
	case "notifications/cancelled":
		return nil, nil // a call goes on: the same call again gets its result
	}
	if strings.HasPrefix(method, "notifications/") {
		return nil, nil
	}
	return nil, &jsonrpc.Problem{Code: jsonrpc.CodeNoMethod, Message: "method not found: " + method}
}

// answer makes a call, and tells a client that asks for it that the call goes on.
func (s *seat) answer(ctx context.Context, raw json.RawMessage) (any, error) {
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, jsonrpc.Invalid("the parameters cannot be read: " + err.Error())
	}
	if args := bytes.TrimSpace(p.Args); len(args) == 0 || string(args) == "null" {
		p.Args = json.RawMessage("{}")
	} else if args[0] != '{' {
		return nil, jsonrpc.Invalid("the arguments of a call are an object")
	}
	if len(p.Meta.Token) > 0 {
		defer s.telling(ctx, p.Meta.Token)()
	}
	r, err := s.call(ctx, p.Name, p.Args)
	if err != nil {
		return nil, &jsonrpc.Problem{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	return object{"content": []object{{"type": "text", "text": r.Text}}, "isError": r.IsError}, nil
}

// telling tells a client until the returned function is called.
func (s *seat) telling(ctx context.Context, token json.RawMessage) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		every := time.NewTicker(tellEvery)
		defer every.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
				s.conn.Notify("notifications/progress", object{"progressToken": token, "progress": n})
			}
		}
	})
	return func() { cancel(); all.Wait() }
}

// Bridges reports whether the arguments of this program, without its name, ask for [Bridge].
func Bridges(args []string) bool {
	return len(args) == 3 && args[0] == "mcp" && args[1] == "bridge"
}

// Bridge passes on what is said between a program that has started this one as an MCP server
// and the table whose socket is at path, until one of them ends. It opens no home and decides
// nothing. It returns the exit status.
func Bridge(path string, in io.Reader, out, complain io.Writer) int {
	c, err := socket.Dial(path)
	if err != nil {
		io.WriteString(complain, "fika: an agent program that is a guest of fika starts this, in its turn: "+err.Error()+"\n")
		return 1
	}
	defer c.Close()
	if _, err := io.WriteString(c, os.Getenv(tokenVar)+"\n"); err != nil {
		return 1
	}
	go func() {
		_, _ = io.Copy(c, bufio.NewReaderSize(in, 1<<16))
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err := io.Copy(out, c); err != nil && !errors.Is(err, net.ErrClosed) {
		return 1
	}
	return 0
}
