package nats

import (
	"sync"

	"fika/internal/bus"
)

// watchers tells every watcher of each change of state, once and in order.
type watchers struct {
	mu    sync.Mutex // held while watchers are called
	state bus.State
	err   error
	fs    map[*watcher]func(bus.State, error)
}

type watcher struct{ of *watchers }

// changeState changes the state. The library reports every failed attempt; only the first
// of a series counts as a change.
func (c *conn) changeState(s bus.State, err error) {
	w := &c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == bus.Closed || (w.state == s && (w.err == nil) == (err == nil)) {
		return
	}
	if w.state == bus.Reconnecting && s == bus.Reconnecting {
		w.err = err // for watchers that come later
		return
	}
	w.state, w.err = s, err
	for _, f := range w.fs {
		f(s, err)
	}
}

// Watch implements bus.Bus. f must return quickly, and must not close its own
// subscription.
func (c *conn) Watch(f func(bus.State, error)) bus.Subscription {
	w := &c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fs == nil {
		w.fs = map[*watcher]func(bus.State, error){}
	}
	id := &watcher{of: w}
	w.fs[id] = f
	f(w.state, w.err)
	return id
}

// Close implements bus.Subscription.
func (id *watcher) Close() error {
	id.of.mu.Lock()
	defer id.of.mu.Unlock()
	delete(id.of.fs, id)
	return nil
}
