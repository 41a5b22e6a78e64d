package session

import (
	"context"
	"errors"
	"io"
	"sync"

	"fika/internal/client"
)

// connection is the client of a person at a terminal. It has no bus while the
// hub starts behind the prompt; a client that has one takes its place then.
type connection struct {
	mu     sync.Mutex
	client *client.Client
	ctx    context.Context // ends when another client takes the place of this one
	retire context.CancelFunc
	opened []io.Closer // of clients that took the place of the first; closed by close
	note   string      // what is being done about the hub, or what is wrong with it
	tended bool        // a hub runs, or one is about to be started
}

func newConnection(ctx context.Context, c *client.Client) *connection {
	conn := &connection{client: c}
	conn.ctx, conn.retire = context.WithCancel(ctx)
	return conn
}

// now gives the client, and a context that ends when there is a better one.
func (c *connection) now() (*client.Client, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client, c.ctx
}

// replace puts a client in place of the one before. outer is the context that
// both live in.
func (c *connection) replace(outer context.Context, next *client.Client, opened io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retire()
	c.client = next
	c.ctx, c.retire = context.WithCancel(outer)
	c.opened = append(c.opened, opened)
}

// trouble says what is being done about the hub, or what is wrong with it; ""
// when it works.
func (c *connection) trouble() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.note
}

func (c *connection) setTrouble(note string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note = note
}

// setTended says whether a hub runs or is about to be started, so that nobody need
// be told that there is none.
func (c *connection) setTended(tended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tended = tended
}

func (c *connection) isTended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tended
}

// close closes what was opened behind the prompt.
func (c *connection) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retire()
	var errs []error
	for _, a := range c.opened {
		errs = append(errs, a.Close())
	}
	c.opened = nil
	return errors.Join(errs...)
}
