package tail

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"fika"
	"fika/internal/store"
)

// Kinds of events that a watcher gets about its stream itself. Their cursor is the place
// of the watcher.
const (
	Mark  store.EventKind = "mark"  // nothing in the scope has happened up to here
	Reset store.EventKind = "reset" // the place is not in this store any more; it ends the stream
)

// A watcher with a scope gets a mark after so many events that it did not want, or after
// so long.
const (
	markAfter = 1000
	markEvery = 15 * time.Second
)

// Scope says which events a watcher wants: those that belong to any of Conversations,
// Agents and Requests, or all if these are empty.
type Scope struct {
	Conversations []fika.ConversationID
	Agents        []fika.AgentID
	Requests      []fika.RequestID
	Kinds         []store.EventKind // empty: all
	Tree          bool              // with the requests that those in Requests cause from now on
	Content       bool              // with the text of entries
	Until         bool              // end after the outcome of all of Requests
	// Ended are those of Requests that had their outcome before the stream began. Behind
	// the event that says so it does not come again.
	Ended []fika.RequestID
	Now   bool // end with what is there now
	Begin bool // begin with a mark: the cursor is known here, and where the stream begins
	// Passing is called with each event, wanted or not, before anything is decided about
	// it; nil: nothing is.
	Passing func(store.Event)
	// May reports whether the watcher may see an event; nil: all of them.
	May func(context.Context, store.Event) (bool, error)
}

// watcher is one stream.
type watcher struct {
	*Tail
	Scope
	at      store.Cursor
	open    map[fika.RequestID]bool // requests whose outcome is waited for
	skipped int
	said    time.Time // when the last event was given
}

// Watch yields the events behind a cursor, in order and each once, and then those that
// are committed, until ctx ends. It ends after a [Reset], after an error that waiting does
// not help, and with scope.Until after the last outcome.
func (t *Tail) Watch(ctx context.Context, scope Scope, from store.Cursor) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		w := &watcher{Tail: t, Scope: scope, at: from, open: map[fika.RequestID]bool{}, said: time.Now()}
		for _, id := range scope.Requests {
			w.open[id] = true
		}
		texts := 0
		if scope.Content {
			texts = 1
		}
		t.count(1, texts)
		defer t.count(-1, -texts)
		rows := t.events.Tail(from) // until the watcher has caught up
		begun := false
		for ctx.Err() == nil {
			changed, _ := t.waiting()
			list, err := w.next(ctx, &rows)
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, store.ErrReset):
				yield(w.about(Reset), nil)
				return
			case err != nil && !store.IsBusy(err):
				yield(store.Event{}, err)
				return
			}
			if w.Begin && !begun && !w.mark(yield) {
				return
			}
			begun = true
			more, err := w.give(ctx, list, yield)
			if err != nil {
				yield(store.Event{}, err)
			}
			if err != nil || !more {
				return
			}
			switch {
			case len(list) > 0:
				continue
			case w.Now, w.isOver():
				return
			}
			_, pace := t.waiting()
			select {
			case <-ctx.Done():
			case <-changed:
			case <-time.After(pace):
			}
		}
	}
}

// isOver reports, for a watcher that has got everything there is, whether the outcomes
// that it waits for are behind it.
func (w *watcher) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.soon { // else something committed earlier is still to come
		for _, id := range w.Ended {
			delete(w.open, id)
		}
	}
	return w.Until && len(w.Requests) > 0 && len(w.open) == 0
}

// next returns what follows, from memory if the watcher is in it, else from the store.
func (w *watcher) next(ctx context.Context, rows **store.Tail) ([]store.Event, error) {
	if *rows == nil {
		if err := w.look(ctx); err != nil {
			return nil, err
		}
		if list, ok := w.following(w.at, w.Content); ok {
			return list, nil
		}
		*rows = w.events.Tail(w.at) // it is slow, or wants text that was not read
	}
	list, err := (*rows).Next(ctx, page, w.Content)
	if err == nil && len(list) == 0 && (w.at != store.Cursor{}) {
		// All that there is was read; the place is known to be here. What others commit
		// from now on is read once for all.
		if err := w.look(ctx); err != nil {
			return nil, err
		}
		if more, ok := w.following(w.at, w.Content); ok {
			*rows = nil
			return more, nil
		}
	}
	return list, err
}

// give yields the events that are wanted. It reports whether the stream goes on.
func (w *watcher) give(ctx context.Context, list []store.Event, yield func(store.Event, error) bool) (bool, error) {
	for _, e := range list {
		w.at = e.Cursor()
		if w.Passing != nil {
			w.Passing(e)
		}
		wanted := w.wants(e)
		if wanted && w.May != nil {
			may, err := w.May(ctx, e)
			if err != nil {
				return false, err
			}
			wanted = may
		}
		if !wanted {
			w.skipped++
		} else if w.skipped, w.said = 0, time.Now(); !yield(e, nil) {
			return false, nil
		}
		if e.Kind == store.RequestEvent && fika.RequestState(e.State).Terminal() {
			delete(w.open, e.Request)
		}
		if w.Until && len(w.Requests) > 0 && len(w.open) == 0 {
			return false, nil
		}
		if w.skipped >= markAfter && !w.mark(yield) {
			return false, nil
		}
	}
	if w.skipped > 0 && time.Since(w.said) >= markEvery {
		return w.mark(yield), nil
	}
	return true, nil
}

func (w *watcher) mark(yield func(store.Event, error) bool) bool {
	w.skipped, w.said = 0, time.Now()
	return yield(w.about(Mark), nil)
}

func (w *watcher) about(kind store.EventKind) store.Event {
	return store.Event{N: w.at.N, At: time.UnixMilli(w.at.At).UTC(), Kind: kind}
}

// wants reports whether an event is in the scope, and learns from it what else is.
func (w *watcher) wants(e store.Event) bool {
	if w.Tree && e.Kind == store.RequestEvent && !slices.Contains(w.Requests, e.Request) {
		var d store.EventData
		if json.Unmarshal(e.Data, &d) == nil && d.Parent != "" && slices.Contains(w.Requests, d.Parent) {
			w.Requests = append(slices.Clip(w.Requests), e.Request)
		}
	}
	if len(w.Kinds) > 0 && !slices.Contains(w.Kinds, e.Kind) {
		return false
	}
	return len(w.Conversations)+len(w.Agents)+len(w.Requests) == 0 ||
		slices.Contains(w.Conversations, e.Conversation) || slices.Contains(w.Agents, e.Agent) || slices.Contains(w.Requests, e.Request)
}
