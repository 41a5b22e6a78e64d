package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/report/delivery"
	"fika/internal/store"
	"fika/internal/system/crash"
)

// patience is how long one event is tried before it counts as refused.
const patience = 24 * time.Hour

// Worker sends the events of one receiver. It is for one goroutine.
type Worker struct {
	delivery.Place          // of the receiver, under its URL
	Kinds          []string // of events that the receiver wants
	Home           string   // id of the database: part of each id
	// Events yields what was committed behind a place, and ends with what is there now.
	Events func(context.Context, api.Cursor) iter.Seq2[api.Event, error]
	// Post sends a message once; see [Poster.Post].
	Post func(ctx context.Context, id, trace string, body []byte) error
	// Trace returns the header traceparent for an event; nil: none is sent.
	Trace func(api.Event) string
}

// Message is what is posted.
type Message struct {
	ID    string    `json:"id"`
	Home  string    `json:"home"`
	Event api.Event `json:"event,omitzero"`
	// LostAfter is the number of the event after which some were removed before they were
	// delivered.
	LostAfter int64 `json:"lost_after,omitempty"`
}

// Run sends events until ctx ends. Trouble with the database is given to failed, and the
// worker goes on.
func (w *Worker) Run(ctx context.Context, failed func(error)) {
	w.Place.Run(ctx, w.Step, failed)
}

// Step sends what there is to send, in order, until there is nothing more or an attempt
// fails. It returns how long there is nothing to do; something new may come earlier.
func (w *Worker) Step(ctx context.Context) (time.Duration, error) {
	if wait, err := w.Due(ctx); wait > 0 || err != nil {
		return wait, err
	}
	if wait, err := w.again(ctx); wait > 0 || err != nil {
		return wait, err
	}
	seen := w.State.Place
	for e, err := range w.Events(ctx, api.Cursor(w.State.Place.String())) {
		switch {
		case err != nil:
			return 0, err
		case e.Kind == api.ResetEvent:
			return 0, w.skip(ctx)
		}
		at, err := store.ParseCursor(string(e.Cursor))
		if err != nil {
			return 0, err
		}
		if e.N == 0 || !slices.Contains(w.Kinds, string(e.Kind)) {
			w.State.Place = at
			continue
		}
		if wait, err := w.send(ctx, e, at); wait > 0 || err != nil {
			return wait, err
		}
		seen = at
	}
	if w.State.Place.N-seen.N > delivery.KeepEvery { // else what was not wanted is read once more after a restart
		return delivery.LookEvery, w.Rows.KeepWebhook(ctx, w.State)
	}
	return delivery.LookEvery, nil
}

// id returns the id of a message. It follows from what the message is about, so that it is
// the same each time.
func (w *Worker) id(n int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", w.Home, w.Receiver, n))
	return "evt_" + hex.EncodeToString(sum[:16])
}

// send sends one event, and stores that the receiver has it.
func (w *Worker) send(ctx context.Context, e api.Event, at store.Cursor) (time.Duration, error) {
	e.Entry, e.Delta = nil, nil
	id := w.id(e.N)
	body, err := json.Marshal(Message{ID: id, Home: w.Home, Event: e})
	if err != nil {
		return 0, fika.Wrap(fika.Failed, "webhook", err)
	}
	wait, refused, err := w.try(ctx, id, e, body)
	if wait > 0 || err != nil {
		return wait, err
	}
	w.State.Place = at
	if refused != "" {
		return 0, w.Rows.RefuseDelivery(ctx, w.State, store.Delivery{URL: w.Receiver, N: e.N, ID: id, Body: string(body), Error: refused})
	}
	return 0, w.Rows.KeepWebhook(ctx, w.State)
}

// again sends what was refused and a person wants sent again.
func (w *Worker) again(ctx context.Context) (time.Duration, error) {
	list, err := w.Rows.Deliveries(ctx, w.Receiver, true)
	if err != nil {
		return 0, err
	}
	for _, v := range list {
		var m Message
		_ = json.Unmarshal([]byte(v.Body), &m) // without its event, it belongs to no trace
		wait, refused, err := w.try(ctx, v.ID, m.Event, []byte(v.Body))
		switch {
		case wait > 0 || err != nil:
			return wait, err
		case refused != "":
			v.Error = refused
			err = w.Rows.RefuseDelivery(ctx, w.State, v)
		default:
			if err = w.Rows.EndDelivery(ctx, v); err == nil {
				err = w.Rows.KeepWebhook(ctx, w.State)
			}
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// try makes one attempt to post a message. If it fails, it stores that, and returns how long
// to wait until the next. Otherwise w's state is that of a receiver that has the message, or
// that has refused it for a reason, and is for the caller to store.
func (w *Worker) try(ctx context.Context, id string, e api.Event, body []byte) (wait time.Duration, refused string, err error) {
	trace := ""
	if w.Trace != nil && e.Request != "" {
		trace = w.Trace(e)
	}
	err = w.Post(ctx, id, trace, body)
	crash.Point("post webhook")
	now := w.Now()
	var no delivery.Refused
	switch {
	case ctx.Err() != nil:
		return 0, "", ctx.Err()
	case err == nil:
		w.State.Delivered = now
	case errors.As(err, &no):
		refused = no.Reason
	case w.State.Tries > 0 && now.Sub(w.State.Failing) > patience:
		refused = fmt.Sprintf("given up after %d attempts: %v", w.State.Tries+1, err)
	default:
		wait, err = w.Failed(ctx, err, 0)
		return wait, "", err
	}
	w.Settled()
	return 0, delivery.Short(refused), nil
}

// skip goes on with the oldest event that is there, after those behind the place were
// removed with age, and notes that.
func (w *Worker) skip(ctx context.Context) error {
	last := w.State.Place.N
	v := store.Delivery{URL: w.Receiver, N: -1 - last, ID: w.id(-1 - last), Error: fmt.Sprintf("events after %d were removed with age before they were delivered", last)}
	body, err := json.Marshal(Message{ID: v.ID, Home: w.Home, LostAfter: last})
	if err != nil {
		return fika.Wrap(fika.Failed, "webhook", err)
	}
	v.Body = string(body)
	w.State.Place = store.Cursor{}
	return w.Rows.RefuseDelivery(ctx, w.State, v)
}
