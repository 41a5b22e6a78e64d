package tail

import (
	"context"
	"errors"
	"sync"
	"time"

	"fika/internal/store"
)

// The pace of looking.
const (
	// every is how often a watcher looks where no bell rings.
	every = 500 * time.Millisecond
	// again is how soon a watcher looks again for what somebody is about to commit.
	again = 10 * time.Millisecond
	// page is how many events are read at once.
	page = 256
	// kept is how many of the newest events stay in memory: with the text of each, up to
	// 64 MiB in the worst case.
	kept = 1024
)

// Events is what a Tail reads; [store.Events] is one.
type Events interface {
	Tail(store.Cursor) *store.Tail
	Confirmed(context.Context) (store.Cursor, error)
}

// Tail follows the events of one store for all watchers of a process. It is safe for
// concurrent use and needs no closing.
type Tail struct {
	events Events

	reading sync.Mutex // held by the watcher that looks for all
	reader  *store.Tail

	mu       sync.Mutex
	watchers int
	bells    int
	begin    bool          // the reader is where nobody watches any more
	changed  chan struct{} // closed when there may be something new
	fresh    bool          // the last look began after the bell rang last
	looked   time.Time     // when the last look began
	soon     bool          // somebody is about to commit what is missing
	ready    bool          // recent is all that there is behind before
	before   store.Cursor  // behind it come all of recent
	recent   []slot
	reads    int // of text: number of watchers that want it
}

// slot is an event in memory.
type slot struct {
	store.Event
	text bool // read with the text of entries
}

// New returns a Tail of a store's events. It looks every half second; while there is a
// bell, when that rings and every two seconds.
func New(events Events) *Tail { return &Tail{events: events, changed: make(chan struct{})} }

// HasBell says that something calls [Tail.Ring] for whatever is committed, until the
// returned function is called.
func (t *Tail) HasBell() (gone func()) {
	count := func(n int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.bells += n
	}
	count(1)
	return sync.OnceFunc(func() { count(-1) })
}

// Ring says that something was committed. It does not wait.
func (t *Tail) Ring() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fresh = false
	t.wake()
}

// wake wakes all watchers. The caller holds mu.
func (t *Tail) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// look reads what is new, unless another watcher has begun to since the bell rang, or
// just now.
func (t *Tail) look(ctx context.Context) error {
	t.reading.Lock()
	defer t.reading.Unlock()
	t.mu.Lock()
	if t.ready && t.fresh && time.Since(t.looked) < t.pace()/2 {
		t.mu.Unlock()
		return nil
	}
	if t.begin {
		t.begin, t.ready, t.recent, t.reader = false, false, nil, nil
	}
	t.fresh, t.looked = true, time.Now()
	text := t.reads > 0
	t.mu.Unlock()
	err := t.read(ctx, text)
	if err != nil {
		t.mu.Lock()
		t.fresh = false // somebody else has to
		t.mu.Unlock()
	}
	return err
}

// pace returns how long to wait before looking unasked. The caller holds mu.
func (t *Tail) pace() time.Duration {
	switch {
	case t.soon:
		return again
	case t.bells > 0:
		return 4 * every
	}
	return every
}

// read adds what is new to the events in memory. The caller holds reading.
func (t *Tail) read(ctx context.Context, text bool) error {
	if t.reader == nil {
		from, err := t.events.Confirmed(ctx)
		if err != nil {
			return err
		}
		t.reader = t.events.Tail(from)
		t.mu.Lock()
		t.ready, t.before, t.recent = true, from, nil
		t.mu.Unlock()
	}
	for {
		list, err := t.reader.Next(ctx, page, text)
		if errors.Is(err, store.ErrReset) {
			t.reader = nil // each watcher finds out about its own place
			t.mu.Lock()
			t.ready, t.recent = false, nil
			t.mu.Unlock()
			return nil
		}
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.soon = t.reader.Waits()
		if len(list) == 0 {
			t.mu.Unlock()
			return nil
		}
		for _, e := range list {
			t.recent = append(t.recent, slot{e, text})
		}
		if n := len(t.recent) - kept; n > 0 {
			t.before = t.recent[n-1].Cursor()
			t.recent = append([]slot(nil), t.recent[n:]...)
		}
		t.wake()
		t.mu.Unlock()
	}
}

// following returns what is in memory behind a place; false if that is not all there is,
// or lacks text that is wanted.
func (t *Tail) following(at store.Cursor, text bool) ([]store.Event, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ready || at.N < t.before.N {
		return nil, false
	}
	var out []store.Event
	for i := len(t.recent) - 1; i >= 0 && t.recent[i].N > at.N; i-- {
		if text && !t.recent[i].text && t.recent[i].Kind == store.EntryEvent {
			return nil, false
		}
		out = append(out, t.recent[i].Event)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, true
}

// waiting returns a channel that is closed when there may be something new, and how long
// to wait for that.
func (t *Tail) waiting() (<-chan struct{}, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed, t.pace()
}

// count adds n watchers, and texts of them that want the text of entries. When the last
// one leaves, what is in memory is forgotten: the next one begins where it wants to.
func (t *Tail) count(n, texts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers, t.reads = t.watchers+n, t.reads+texts
	if t.watchers == 0 {
		t.begin, t.fresh, t.recent, t.ready = true, false, nil, false
	}
}

// Look runs read, which reads the state of things, and returns a cursor from which
// [Tail.Watch] misses nothing that is not in that state.
func (t *Tail) Look(ctx context.Context, read func(context.Context) error) (store.Cursor, error) {
	at, err := t.events.Confirmed(ctx)
	if err == nil {
		err = read(ctx)
	}
	return at, err
}
