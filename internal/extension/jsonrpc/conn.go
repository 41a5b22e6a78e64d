package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// maxRunning is how many requests of the other program may be under way.
const maxRunning = 64

// ErrGone is the error of a request when the other program's output has ended.
var ErrGone = errors.New("the connection has ended")

// Conn is a connection to another program. Its methods may be called by several goroutines,
// but for Serve.
type Conn struct {
	// Noise is given each line that is not a message, which is then not answered; nil: such a
	// line is answered with an error. Set it before Serve. The line is valid during the call.
	Noise func(line []byte)

	gone    chan struct{} // closed when Serve has read everything
	mu      sync.Mutex    // of what follows, and of writing
	out     io.Writer
	failed  error // of the first write that did
	last    int64
	asked   map[int64]chan Message        // our requests that have no answer yet
	running map[string]context.CancelFunc // the other program's requests, by id

	handlers sync.WaitGroup
}

// New returns a connection that writes to out.
func New(out io.Writer) *Conn {
	return &Conn{out: out, asked: map[int64]chan Message{}, running: map[string]context.CancelFunc{}, gone: make(chan struct{})}
}

// Handler answers a request, or takes a notification. It returns nil or what the result is, and a
// [*Problem] or another error.
type Handler func(ctx context.Context, method string, params json.RawMessage) (any, error)

// Serve reads messages until the input ends, and joins what it has begun. Notifications and
// the requests that quick names are handled in order, the other requests beside each other.
// It may be called once.
func (c *Conn) Serve(ctx context.Context, in io.Reader, do Handler, quick func(method string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer c.handlers.Wait()
	defer cancel()
	defer close(c.gone)
	lines := NewLines(in)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, ErrTooLong):
			if c.Noise != nil {
				c.Noise([]byte(fmt.Sprintf("(a line of more than %d bytes)", MaxLine)))
				continue
			}
			c.fail(nil, &Problem{CodeInvalidRequest, fmt.Sprintf("a message has at most %d bytes", MaxLine)})
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		m, bad := parse(line)
		switch {
		case bad != nil && c.Noise != nil:
			c.Noise(line)
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
func parse(line []byte) (m Message, bad *Problem) {
	if !json.Valid(line) {
		return m, &Problem{CodeParse, "this is not JSON"}
	}
	bad = &Problem{CodeInvalidRequest, "this is not a message of JSON-RPC 2.0"}
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
		m.Error = &Problem{CodeInternal, "an error that cannot be read"}
	}
	return m, nil
}

// notified handles a notification. Unknown ones are ignored.
func (c *Conn) notified(ctx context.Context, m Message, do Handler) {
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
func (c *Conn) begin(ctx context.Context, m Message, do Handler) {
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
		c.fail(m.ID, &Problem{CodeInvalidRequest, "a request with this id is under way, or there are too many"})
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

func (c *Conn) handle(ctx context.Context, m Message, do Handler) {
	out, err := do(ctx, m.Method, m.Params)
	var bad *Problem
	switch {
	case errors.As(err, &bad):
		c.fail(m.ID, bad)
	case errors.Is(err, context.Canceled):
		c.fail(m.ID, &Problem{CodeCancelled, "cancelled"})
	case err != nil:
		c.fail(m.ID, &Problem{CodeInternal, err.Error()})
	default:
		if out == nil {
			out = struct{}{}
		}
		raw, err := json.Marshal(out)
		if err != nil {
			c.fail(m.ID, &Problem{CodeInternal, err.Error()})
			return
		}
		c.write(Message{ID: m.ID, Result: raw})
	}
}

// fail answers with an error; a nil id is null.
func (c *Conn) fail(id json.RawMessage, p *Problem) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.write(Message{ID: id, Error: p})
}

// Notify tells the other program something.
func (c *Conn) Notify(method string, params any) {
	if raw, err := json.Marshal(params); err == nil {
		c.write(Message{Method: method, Params: raw})
	}
}

// Ask sends a request and waits for the answer. If ctx ends first, the other program gets
// $/cancel_request. It fails with a [*Problem] that the other program sent, or [ErrGone].
func (c *Conn) Ask(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	got := make(chan Message, 1)
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
	c.write(Message{ID: id, Method: method, Params: raw})
	select {
	case <-ctx.Done():
		c.Notify("$/cancel_request", map[string]any{"requestId": n})
		return ctx.Err()
	case m := <-got:
		return m.read(result)
	case <-c.gone:
		select {
		case m := <-got: // it came last
			return m.read(result)
		default:
			return ErrGone
		}
	}
}

// read returns the error of an answer, or its result.
func (m Message) read(result any) error {
	if m.Error != nil {
		return m.Error
	}
	return json.Unmarshal(m.Result, result)
}

// answered passes an answer on. One that nobody waits for is ignored.
func (c *Conn) answered(m Message) {
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

func (c *Conn) write(m Message) {
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
func (c *Conn) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}
