package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"fika/internal/door"
)

// maxRunning is how many requests of a client may be under way.
const maxRunning = 64

// conn is the connection to a client. Its methods may be called by several goroutines,
// but for serve.
type conn struct {
	mu      sync.Mutex // of what follows, and of writing
	out     io.Writer
	failed  error // of the first write that did
	last    int64
	asked   map[int64]chan message        // our requests that have no answer yet
	running map[string]context.CancelFunc // the client's requests, by id

	handlers sync.WaitGroup
}

// handler answers a request of the client. It returns nil or what the result is, and a
// [*problem] or another error.
type handler func(ctx context.Context, method string, params json.RawMessage) (any, error)

// serve reads messages until the input ends, and joins what it has begun. Requests that
// quick names are answered in order, the others beside each other.
func (c *conn) serve(ctx context.Context, in io.Reader, do handler, quick func(method string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer c.handlers.Wait()
	defer cancel()
	lines := door.NewLines(in)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, door.ErrTooLong):
			c.fail(nil, &problem{codeInvalidRequest, fmt.Sprintf("a message has at most %d bytes", door.MaxLine)})
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		m, bad := parse(line)
		switch {
		case bad != nil:
			c.fail(m.ID, bad)
		case m.Method == "":
			c.answered(m)
		case m.ID == nil:
			c.notified(ctx, m, do)
		case quick(m.Method):
			c.handle(ctx, m, do)
		default:
			c.begin(ctx, m, do)
		}
		if err := c.broken(); err != nil {
			return err
		}
	}
}

// parse reads a message. It returns what is wrong with one that is none; its id counts
// all the same.
func parse(line []byte) (m message, bad *problem) {
	if !json.Valid(line) {
		return m, &problem{codeParse, "this is not JSON"}
	}
	bad = &problem{codeInvalidRequest, "this is not a message of JSON-RPC 2.0"}
	var loose struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if line[0] != '{' || json.Unmarshal(line, &loose) != nil || string(loose.Version) != `"2.0"` {
		return m, bad
	}
	var number int64
	var word string
	switch {
	case loose.ID == nil || bytes.Equal(loose.ID, []byte("null")):
	case json.Unmarshal(loose.ID, &number) == nil || json.Unmarshal(loose.ID, &word) == nil:
		m.ID = bytes.Clone(loose.ID)
	default:
		return m, bad
	}
	if loose.Method != nil {
		if json.Unmarshal(loose.Method, &m.Method) != nil || m.Method == "" {
			return m, bad
		}
		m.Params = bytes.Clone(loose.Params)
		return m, nil
	}
	if m.ID == nil || loose.Result == nil && loose.Error == nil {
		return m, bad
	}
	m.Result = bytes.Clone(loose.Result)
	if loose.Error != nil && (json.Unmarshal(loose.Error, &m.Error) != nil || m.Error == nil) {
		m.Error = &problem{codeInternal, "an error that cannot be read"}
	}
	return m, nil
}

// notified handles a notification. Unknown ones are ignored.
func (c *conn) notified(ctx context.Context, m message, do handler) {
	if m.Method != "$/cancel_request" {
		_, _ = do(ctx, m.Method, m.Params) // nobody waits for an answer
		return
	}
	var of struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &of) != nil {
		return
	}
	c.mu.Lock()
	cancel := c.running[string(of.ID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// begin handles a request in a goroutine of its own, which serve joins.
func (c *conn) begin(ctx context.Context, m message, do handler) {
	ctx, cancel := context.WithCancel(ctx)
	id := string(m.ID)
	c.mu.Lock()
	_, twice := c.running[id]
	full := len(c.running) >= maxRunning
	if !twice && !full {
		c.running[id] = cancel
	}
	c.mu.Unlock()
	if twice || full {
		cancel()
		c.fail(m.ID, &problem{codeInvalidRequest, "a request with this id is under way, or there are too many"})
		return
	}
	c.handlers.Go(func() {
		defer cancel()
		c.handle(ctx, m, do)
		c.mu.Lock()
		delete(c.running, id)
		c.mu.Unlock()
	})
}

func (c *conn) handle(ctx context.Context, m message, do handler) {
	out, err := do(ctx, m.Method, m.Params)
	var bad *problem
	switch {
	case errors.As(err, &bad):
		c.fail(m.ID, bad)
	case errors.Is(err, context.Canceled):
		c.fail(m.ID, &problem{codeCancelled, "cancelled"})
	case err != nil:
		c.fail(m.ID, &problem{codeInternal, err.Error()})
	default:
		if out == nil {
			out = struct{}{}
		}
		raw, err := json.Marshal(out)
		if err != nil {
			c.fail(m.ID, &problem{codeInternal, err.Error()})
			return
		}
		c.write(message{ID: m.ID, Result: raw})
	}
}

// fail answers with an error; a nil id is null.
func (c *conn) fail(id json.RawMessage, p *problem) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.write(message{ID: id, Error: p})
}

// notify tells the client something.
func (c *conn) notify(method string, params any) {
	if raw, err := json.Marshal(params); err == nil {
		c.write(message{Method: method, Params: raw})
	}
}

// ask sends a request and waits for the answer. If ctx ends first, the client is told that
// the request is withdrawn.
func (c *conn) ask(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	got := make(chan message, 1)
	c.mu.Lock()
	c.last++
	n := c.last
	c.asked[n] = got
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, n)
		c.mu.Unlock()
	}()
	id := json.RawMessage(strconv.FormatInt(n, 10))
	c.write(message{ID: id, Method: method, Params: raw})
	select {
	case <-ctx.Done():
		c.notify("$/cancel_request", map[string]any{"requestId": n})
		return ctx.Err()
	case m := <-got:
		if m.Error != nil {
			return m.Error
		}
		return json.Unmarshal(m.Result, result)
	}
}

// answered passes an answer of the client on. One that nobody waits for is ignored.
func (c *conn) answered(m message) {
	n, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	got := c.asked[n]
	delete(c.asked, n)
	c.mu.Unlock()
	if got != nil {
		got <- m // capacity 1, and it is the only one
	}
}

func (c *conn) write(m message) {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		_, c.failed = c.out.Write(append(line, '\n'))
	}
}

// broken returns the error of the first write that failed.
func (c *conn) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}
