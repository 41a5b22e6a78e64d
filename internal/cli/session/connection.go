package session

import (
	"context"
	"errors"
	"io"
	"sync"

	"fika/internal/service"
)

// connection holds the service of a person at a terminal. The service has no bus while
// the hub starts in the background; one that has a bus then replaces it.
type connection struct {
	mu      sync.Mutex
	service *service.Service
	ctx     context.Context // ends when another service replaces this one
	retire  context.CancelFunc
	opened  []io.Closer // of the clients after the first; closed by close
	note    string      // what is being done about the hub, or what is wrong with it
	tended  bool        // a hub runs, or one is about to be started
}

func newConnection(ctx context.Context, c *service.Service) *connection {
	conn := &connection{service: c}
	conn.ctx, conn.retire = context.WithCancel(ctx)
	return conn
}

// now returns the service, and a context that ends when another one replaces it.
func (c *connection) now() (*service.Service, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.service, c.ctx
}

// replace replaces the service and takes ownership of opened, which close closes. The
// context of the new service is derived from outer.
func (c *connection) replace(outer context.Context, next *service.Service, opened io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retire()
	c.service = next
	c.ctx, c.retire = context.WithCancel(outer)
	c.opened = append(c.opened, opened)
}

// trouble returns what is being done about the hub, or what is wrong with it; ""
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

// setTended records whether a hub runs or is about to be started: the person then
// need not be told that there is none.
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

// close ends the context of the service and closes what replace was given.
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
