package nats

import (
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/bus"
)

// subscription joins the library's delivery goroutine when it is closed.
type subscription struct {
	conn *conn
	sub  *nats.Subscription
	done chan struct{} // closed when the last handler has returned
	once sync.Once
}

// Subscribe implements bus.Bus. h must not close its own subscription.
func (c *conn) Subscribe(subject string, h func(bus.Msg)) (bus.Subscription, error) {
	s := &subscription{conn: c, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs == nil {
		return nil, fika.Errorf(fika.Failed, "subscribe to "+subject, "the bus is closed")
	}
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) { h(c.toMessage(m)) })
	if errors.Is(err, nats.ErrBadSubject) {
		return nil, fika.Errorf(fika.Invalid, "subscribe", "%.80q is not a subject", subject)
	}
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "subscribe to "+subject, err)
	}
	sub.SetClosedHandler(func(string) { close(s.done) })
	if err := sub.SetPendingLimits(pendingMsgs, pendingBytes); err != nil {
		return nil, fika.Wrap(fika.Failed, "subscribe to "+subject, err)
	}
	s.sub = sub
	c.subs[s] = struct{}{}
	return s, nil
}

func (c *conn) toMessage(m *nats.Msg) bus.Msg {
	return bus.Msg{Subject: m.Subject, Data: m.Data, Asker: askerOf(m.Reply), Respond: func(data []byte) error {
		if m.Reply == "" {
			return nil
		}
		if limit := c.MaxPayload(); len(data) > limit {
			return fika.Errorf(fika.Invalid, "answer "+m.Subject, "the answer has %d bytes; the bus takes at most %d (max_payload)", len(data), limit)
		}
		return publishError(m.Reply, m.Respond(data))
	}}
}

// Dropped returns how many messages were lost by falling behind.
func (s *subscription) Dropped() int {
	n, _ := s.sub.Dropped() // an error means closed: nothing more to count
	return n
}

// Drain ends the subscription once everything that the server has sent so far has been
// handled. While the connection is down, that may take until it is back.
func (s *subscription) Drain() <-chan struct{} {
	_ = s.sub.Drain() // an error means closed: its goroutine has ended or will end
	return s.done
}

// Close ends the subscription and waits at most 5 s for a running handler.
func (s *subscription) Close() error {
	s.once.Do(func() {
		s.conn.mu.Lock()
		delete(s.conn.subs, s) // the map may be nil, which is harmless
		s.conn.mu.Unlock()
		// An error means that the subscription or the connection has ended, which ends
		// the goroutine too.
		_ = s.sub.Unsubscribe()
	})
	select {
	case <-s.done:
		return nil
	case <-time.After(closeTimeout):
		return fika.Errorf(fika.Failed, "unsubscribe from "+s.sub.Subject, "its handler still runs after %s", closeTimeout)
	}
}
