package bustest

import (
	"bytes"
	"sync"

	"fika"
	"fika/internal/bus"
)

// subscription delivers in a goroutine of its own, which stop joins.
type subscription struct {
	bus     *Bus
	subject string
	h       func(bus.Msg)
	done    chan struct{}

	mu      sync.Mutex
	wake    sync.Cond
	queue   []packet
	bytes   int
	dropped int
	ended   bool
}

// Subscribe implements bus.Bus.
func (b *Bus) Subscribe(subject string, h func(bus.Msg)) (bus.Subscription, error) {
	s := &subscription{bus: b, subject: subject, h: h, done: make(chan struct{})}
	s.wake.L = &s.mu
	b.broker.mu.Lock()
	defer b.broker.mu.Unlock()
	if b.closed {
		return nil, fika.Errorf(fika.Failed, "subscribe to "+subject, "the bus is closed")
	}
	b.subs[s] = struct{}{}
	go s.deliver()
	return s, nil
}

func (s *subscription) push(p packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) >= maxPending || s.bytes+len(p.data) > pendingMax {
		s.dropped++
		return
	}
	s.queue = append(s.queue, p)
	s.bytes += len(p.data)
	s.wake.Signal()
}

func (s *subscription) deliver() {
	defer close(s.done)
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.ended {
			s.wake.Wait()
		}
		if s.ended {
			s.mu.Unlock()
			return
		}
		p := s.queue[0]
		s.queue = s.queue[1:]
		s.bytes -= len(p.data)
		s.mu.Unlock()
		s.h(s.bus.message(p))
	}
}

// message copies the data, because several subscriptions may get it.
func (b *Bus) message(p packet) bus.Msg {
	return bus.Msg{Subject: p.subject, Data: bytes.Clone(p.data), Respond: func(data []byte) error {
		if p.reply == "" {
			return nil
		}
		return b.Publish(p.reply, data)
	}}
}

// Dropped returns how many messages were lost by falling behind.
func (s *subscription) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close implements bus.Subscription.
func (s *subscription) Close() error {
	s.bus.broker.mu.Lock()
	delete(s.bus.subs, s)
	s.bus.broker.mu.Unlock()
	s.stop()
	return nil
}

func (s *subscription) stop() {
	s.mu.Lock()
	s.ended = true
	s.wake.Signal()
	s.mu.Unlock()
	<-s.done
}

// watcher calls f for each change of state, in order.
type watcher struct {
	bus *Bus

	mu    sync.Mutex // held while f runs
	f     func(bus.State, error)
	last  bus.State
	ended bool
}

// Watch implements bus.Bus.
func (b *Bus) Watch(f func(bus.State, error)) bus.Subscription {
	w := &watcher{bus: b, f: f}
	b.broker.replay.Lock() // no change between the first call and the next
	defer b.broker.replay.Unlock()
	b.broker.mu.Lock()
	state := bus.Connected
	if b.broker.down {
		state = bus.Reconnecting
	}
	if b.closed {
		state = bus.Closed
	} else {
		b.watchers[w] = struct{}{}
	}
	b.broker.mu.Unlock()
	w.say(state, nil)
	return w
}

func (w *watcher) say(s bus.State, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.last == s {
		return
	}
	w.last = s
	w.f(s, err)
}

// Close implements bus.Subscription.
func (w *watcher) Close() error {
	w.bus.broker.mu.Lock()
	delete(w.bus.watchers, w)
	w.bus.broker.mu.Unlock()
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	return nil
}
