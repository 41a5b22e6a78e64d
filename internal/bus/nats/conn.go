package nats

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/bus"
)

// conn is the connection of one process. nc is set before anybody else has the conn.
type conn struct {
	opts   Options
	log    *slog.Logger
	nc     *nats.Conn
	closed chan struct{} // closed by the library's last callback

	mu     sync.Mutex
	ep     Endpoint
	dial   func(network, address string) (net.Conn, error) // used during Dial; nil afterwards
	unbind []func() bool
	subs   map[*subscription]struct{} // nil once closing
	said   map[string]time.Time       // when asyncError last logged each text

	watch watchers
}

const (
	flushTimeout = time.Second // a lost wake-up costs two
	closeTimeout = 5 * time.Second
	quietFor     = time.Minute // the same complaint is logged once in this time
)

func newConn(ctx context.Context, o Options) *conn {
	c := &conn{
		opts: o, log: o.logOrDiscard(), ep: o.firstEndpoint(), closed: make(chan struct{}),
		subs: map[*subscription]struct{}{}, said: map[string]time.Time{},
		watch: watchers{state: bus.Reconnecting},
	}
	c.dial = c.firstDial(ctx)
	return c
}

func (c *conn) currentEndpoint() Endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ep
}

// Publish implements bus.Bus. Error kinds: Invalid for a body over max_payload
// or a subject that cannot be published to, Failed when the bus is closed or
// the reconnect buffer is full.
func (c *conn) Publish(subject string, data []byte) error {
	if err := c.checkMessage(subject, data); err != nil {
		return err
	}
	return publishError(subject, c.nc.Publish(subject, data))
}

func (c *conn) checkMessage(subject string, data []byte) error {
	if limit := c.MaxPayload(); len(data) > limit {
		return fika.Errorf(fika.Invalid, "publish", "the message for %s has %d bytes; the bus takes at most %d (max_payload)", subject, len(data), limit)
	}
	return checkSubject(subject)
}

// checkSubject refuses subjects for which the server would drop the connection, and
// patterns, to which nobody can publish.
func checkSubject(subject string) error {
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" || token == "*" || token == ">" || strings.ContainsAny(token, " \t\r\n") {
			return fika.Errorf(fika.Invalid, "publish", "%.80q is not a subject to publish to", subject)
		}
	}
	return nil
}

func publishError(subject string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return fika.Errorf(fika.Failed, "publish to "+subject, "the bus is away and %d MiB already wait for it", reconnectBytes>>20)
	case errors.Is(err, nats.ErrConnectionClosed):
		return fika.Errorf(fika.Failed, "publish to "+subject, "the bus is closed")
	default:
		return fika.Wrap(fika.Failed, "publish to "+subject, err)
	}
}

// Request implements bus.Bus. Error kinds besides those of Publish: NotFound
// when nobody listens, Interrupted when ctx is cancelled, Failed when its
// deadline passes.
func (c *conn) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := c.checkMessage(subject, data); err != nil {
		return nil, err
	}
	m, err := c.nc.RequestWithContext(ctx, subject, data)
	switch {
	case err == nil:
		return m.Data, nil
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fika.Errorf(fika.NotFound, "ask "+subject, "nobody listens there")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return nil, &fika.Error{Kind: fika.Failed, Op: "ask " + subject, Msg: "no answer in time", Err: err}
	case errors.Is(err, context.Canceled):
		return nil, fika.Wrap(fika.Interrupted, "ask "+subject, err)
	default:
		return nil, publishError(subject, err)
	}
}

// Flush implements bus.Bus; if ctx has no deadline it waits at most 1 s.
func (c *conn) Flush(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, flushTimeout)
		defer cancel()
	}
	err := c.nc.FlushWithContext(ctx)
	for errors.Is(err, nats.ErrConnectionClosed) && !c.nc.IsClosed() && ctx.Err() == nil {
		err = c.nc.FlushWithContext(ctx) // the connection broke during the last flush
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return fika.Wrap(fika.Interrupted, "flush bus", err)
	default:
		return fika.Wrap(fika.Failed, "flush bus", err)
	}
}

// MaxPayload implements bus.Bus; before the first connection it returns the server's
// default.
func (c *conn) MaxPayload() int {
	if n := c.nc.MaxPayload(); n > 0 {
		return int(n)
	}
	return defaultPayload
}

// Close sends what was published, ends and joins all subscriptions, and disconnects. It
// takes at most 5 s and may be called again.
func (c *conn) Close() error {
	c.mu.Lock()
	subs := c.subs
	c.subs = nil
	c.mu.Unlock()
	if c.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout/5)
		_ = c.nc.FlushWithContext(ctx) // what cannot be sent is lost, as wake-ups may be
		cancel()
	}
	var errs []error
	for s := range subs {
		errs = append(errs, s.Close())
	}
	c.nc.Close()
	select {
	case <-c.closed:
	case <-time.After(closeTimeout):
		errs = append(errs, fika.Errorf(fika.Failed, "close bus", "a handler is still running after %s", closeTimeout))
	}
	return errors.Join(errs...)
}

// asyncError logs slow consumers and refused subjects. The library reports a refusal for
// each message, so the same text is logged at most once a minute.
func (c *conn) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	text := err.Error()
	c.mu.Lock()
	now := time.Now()
	fresh := now.Sub(c.said[text]) >= quietFor
	if fresh {
		if len(c.said) > 1000 {
			clear(c.said)
		}
		c.said[text] = now
	}
	c.mu.Unlock()
	if !fresh {
		return
	}
	args := []any{"error", text}
	if sub != nil {
		args = append(args, "subject", sub.Subject)
		if n, err := sub.Dropped(); err == nil && n > 0 {
			args = append(args, "dropped", n)
		}
	}
	c.log.Warn("bus", args...)
}
