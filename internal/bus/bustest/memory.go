package bustest

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"

	"fika"
	"fika/internal/bus"
)

const (
	maxPayload  = 1 << 20
	bufferBytes = 8 << 20
	maxPending  = 512 << 10
	pendingMax  = 64 << 20
)

// Bus is a connection to a broker in memory.
type Bus struct {
	broker *broker

	// Guarded by broker.mu.
	subs     map[*subscription]struct{}
	watchers map[*watcher]struct{}
	buffer   []packet // published while the broker was down
	buffered int
	closed   bool
}

// broker carries messages between its connections.
type broker struct {
	mu     sync.Mutex
	conns  map[*Bus]struct{}
	down   bool
	inbox  int
	replay sync.Mutex // one change of state at a time
}

type packet struct {
	subject, reply string
	data           []byte
}

// Memory returns a connection to a new broker. It is connected until [Bus.Down].
func Memory() *Bus { return (&broker{conns: map[*Bus]struct{}{}}).dial() }

// Peer returns another connection to the same broker, as another process would have.
func (b *Bus) Peer() *Bus { return b.broker.dial() }

func (k *broker) dial() *Bus {
	b := &Bus{broker: k, subs: map[*subscription]struct{}{}, watchers: map[*watcher]struct{}{}}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conns[b] = struct{}{}
	return b
}

// Down disconnects all connections of the broker.
func (b *Bus) Down() { b.broker.set(true) }

// Up reconnects them; what was published meanwhile is delivered.
func (b *Bus) Up() { b.broker.set(false) }

func (k *broker) set(down bool) {
	k.replay.Lock()
	defer k.replay.Unlock()
	k.mu.Lock()
	if k.down == down {
		k.mu.Unlock()
		return
	}
	k.down = down
	state, err := bus.Connected, error(nil)
	if down {
		state, err = bus.Reconnecting, fika.Errorf(fika.Failed, "bus", "the connection is gone")
	}
	var tell []*watcher
	for b := range k.conns {
		for w := range b.watchers {
			tell = append(tell, w)
		}
		if !down {
			for _, p := range b.buffer {
				k.route(p)
			}
			b.buffer, b.buffered = nil, 0
		}
	}
	k.mu.Unlock()
	for _, w := range tell {
		w.say(state, err)
	}
}

// route hands p to every matching subscription and returns their number. The caller holds
// mu.
func (k *broker) route(p packet) int {
	n := 0
	for b := range k.conns {
		for s := range b.subs {
			if Match(s.subject, p.subject) {
				s.push(p)
				n++
			}
		}
	}
	return n
}

// Match reports whether subject matches pattern: * stands for one token, > for one or
// more at the end.
func Match(pattern, subject string) bool {
	for {
		p, prest, pmore := strings.Cut(pattern, ".")
		if p == ">" {
			return subject != ""
		}
		s, srest, smore := strings.Cut(subject, ".")
		if (p != "*" && p != s) || s == "" || pmore != smore {
			return false
		}
		if !pmore {
			return true
		}
		pattern, subject = prest, srest
	}
}

func checkPublish(subject string, data []byte) error {
	if len(data) > maxPayload {
		return fika.Errorf(fika.Invalid, "publish", "the message for %s has %d bytes; the bus takes at most %d (max_payload)", subject, len(data), maxPayload)
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" || token == "*" || token == ">" || strings.ContainsAny(token, " \t\r\n") {
			return fika.Errorf(fika.Invalid, "publish", "%.80q is not a subject to publish to", subject)
		}
	}
	return nil
}

// Publish implements bus.Bus.
func (b *Bus) Publish(subject string, data []byte) error {
	if err := checkPublish(subject, data); err != nil {
		return err
	}
	b.broker.mu.Lock()
	defer b.broker.mu.Unlock()
	_, err := b.send(packet{subject: subject, data: bytes.Clone(data)})
	return err
}

// send routes p, or buffers it while the broker is down. The caller holds mu.
func (b *Bus) send(p packet) (receivers int, err error) {
	switch {
	case b.closed:
		return 0, fika.Errorf(fika.Failed, "publish to "+p.subject, "the bus is closed")
	case !b.broker.down:
		return b.broker.route(p), nil
	case b.buffered+len(p.data) > bufferBytes:
		return 0, fika.Errorf(fika.Failed, "publish to "+p.subject, "the bus is away and %d MiB already wait for it", bufferBytes>>20)
	default:
		b.buffer = append(b.buffer, p)
		b.buffered += len(p.data)
		return 1, nil
	}
}

// Request implements bus.Bus.
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := checkPublish(subject, data); err != nil {
		return nil, err
	}
	k := b.broker
	k.mu.Lock()
	k.inbox++
	inbox := "_INBOX." + strconv.Itoa(k.inbox)
	k.mu.Unlock()
	answer := make(chan []byte, 1)
	s, err := b.Subscribe(inbox, func(m bus.Msg) {
		select {
		case answer <- m.Data:
		default: // the first answer counts
		}
	})
	if err != nil {
		return nil, err
	}
	defer s.Close() //nolint:errcheck // it cannot fail
	k.mu.Lock()
	n, err := b.send(packet{subject: subject, reply: inbox, data: bytes.Clone(data)})
	k.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fika.Errorf(fika.NotFound, "ask "+subject, "nobody listens there")
	}
	select {
	case d := <-answer:
		return d, nil
	case <-ctx.Done():
		kind := fika.Failed
		if ctx.Err() == context.Canceled {
			kind = fika.Interrupted
		}
		return nil, fika.Wrap(kind, "ask "+subject, ctx.Err())
	}
}

// Flush implements bus.Bus. While the broker is down it blocks until ctx ends.
func (b *Bus) Flush(ctx context.Context) error {
	b.broker.mu.Lock()
	down, closed := b.broker.down, b.closed
	b.broker.mu.Unlock()
	if closed {
		return fika.Errorf(fika.Failed, "flush bus", "the bus is closed")
	}
	if !down {
		return nil
	}
	up := make(chan struct{}, 1)
	w := b.Watch(func(s bus.State, _ error) {
		if s != bus.Reconnecting {
			select {
			case up <- struct{}{}:
			default:
			}
		}
	})
	defer w.Close() //nolint:errcheck // it cannot fail
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return fika.Wrap(fika.Failed, "flush bus", ctx.Err())
	}
}

// MaxPayload implements bus.Bus.
func (b *Bus) MaxPayload() int { return maxPayload }

// Close implements bus.Bus.
func (b *Bus) Close() error {
	k := b.broker
	k.mu.Lock()
	if b.closed {
		k.mu.Unlock()
		return nil
	}
	b.closed = true
	delete(k.conns, b)
	subs, watchers := b.subs, b.watchers
	b.subs, b.watchers = nil, nil
	k.mu.Unlock()
	for s := range subs {
		s.stop()
	}
	for w := range watchers {
		w.say(bus.Closed, nil)
	}
	return nil
}
