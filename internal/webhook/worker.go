package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/crash"
	"fika/internal/store"
)

const (
	// firstWait is how long the second attempt comes after the first, and lastWait how far
	// apart attempts are at most.
	firstWait = time.Second
	lastWait  = 5 * time.Minute
	// patience is how long one event is tried before it counts as refused.
	patience = 24 * time.Hour
	// lookEvery is how often the database is looked at for new events.
	lookEvery = time.Second
)

// Rows keeps how far the receiver is. [store.Webhooks] implements it.
type Rows interface {
	Webhook(ctx context.Context, url string) (store.WebhookState, error)
	KeepWebhook(context.Context, store.WebhookState) error
	RefuseDelivery(context.Context, store.WebhookState, store.Delivery) error
	EndDelivery(context.Context, store.Delivery) error
	Deliveries(ctx context.Context, url string, again bool) ([]store.Delivery, error)
}

// Worker sends the events of one receiver. It is for one goroutine.
type Worker struct {
	URL   string
	Kinds []string // of events that the receiver wants
	Home  string   // id of the database: part of each id
	Rows  Rows
	// Events yields what was committed behind a place, and ends with what is there now.
	Events func(context.Context, api.Cursor) iter.Seq2[api.Event, error]
	// Post sends a message once; see [Poster.Post].
	Post func(ctx context.Context, id, trace string, body []byte) error
	// Trace returns the header traceparent for an event; nil: none is sent.
	Trace func(api.Event) string
	Now   func() time.Time

	begun bool
	state store.WebhookState
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
	for ctx.Err() == nil {
		wait, err := w.Step(ctx)
		if err != nil && ctx.Err() == nil {
			failed(err)
			wait, w.begun = lastWait/10, false
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, lookEvery)):
		}
	}
}

// Step sends what there is to send, in order, until there is nothing more or an attempt
// fails. It returns how long there is nothing to do; something new may come earlier.
func (w *Worker) Step(ctx context.Context) (time.Duration, error) {
	var err error
	if !w.begun || !w.state.Next.IsZero() { // a person may want it tried at once
		if w.state, err = w.Rows.Webhook(ctx, w.URL); err != nil {
			return 0, err
		}
		w.begun = true
	}
	if wait := w.state.Next.Sub(w.Now()); wait > 0 {
		return wait, nil
	}
	if wait, err := w.again(ctx); wait > 0 || err != nil {
		return wait, err
	}
	seen := w.state.Place
	for e, err := range w.Events(ctx, api.Cursor(w.state.Place.String())) {
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
			w.state.Place = at
			continue
		}
		if wait, err := w.send(ctx, e, at); wait > 0 || err != nil {
			return wait, err
		}
		seen = at
	}
	if w.state.Place.N-seen.N > placeEvery { // else what was not wanted is read once more after a restart
		return lookEvery, w.Rows.KeepWebhook(ctx, w.state)
	}
	return lookEvery, nil
}

// placeEvery is after how many events that a receiver does not want its place is stored.
const placeEvery = 1000

// id returns the id of a message. It follows from what the message is about, so that it is
// the same each time.
func (w *Worker) id(n int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", w.Home, w.URL, n))
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
	w.state.Place = at
	if refused != "" {
		return 0, w.Rows.RefuseDelivery(ctx, w.state, store.Delivery{URL: w.URL, N: e.N, ID: id, Body: string(body), Error: refused})
	}
	return 0, w.Rows.KeepWebhook(ctx, w.state)
}

// again sends what was refused and a person wants sent again.
func (w *Worker) again(ctx context.Context) (time.Duration, error) {
	list, err := w.Rows.Deliveries(ctx, w.URL, true)
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
			err = w.Rows.RefuseDelivery(ctx, w.state, v)
		default:
			if err = w.Rows.EndDelivery(ctx, v); err == nil {
				err = w.Rows.KeepWebhook(ctx, w.state)
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
	var no Refused
	switch {
	case ctx.Err() != nil:
		return 0, "", ctx.Err()
	case err == nil:
		w.state.Delivered = now
	case errors.As(err, &no):
		refused = no.Reason
	case w.state.Tries > 0 && now.Sub(w.state.Failing) > patience:
		refused = fmt.Sprintf("given up after %d attempts: %v", w.state.Tries+1, err)
	default:
		if w.state.Tries == 0 {
			w.state.Failing = now
		}
		w.state.Tries++
		w.state.Error = short(err.Error())
		wait = waitAfter(w.state.Tries)
		w.state.Next = now.Add(wait)
		return wait, "", w.Rows.KeepWebhook(ctx, w.state)
	}
	w.state.Tries, w.state.Error, w.state.Failing, w.state.Next = 0, "", time.Time{}, time.Time{}
	return 0, short(refused), nil
}

// waitAfter returns how long to wait after so many attempts have failed.
func waitAfter(tries int) time.Duration {
	wait := lastWait
	if tries < 10 {
		wait = min(wait, firstWait<<(tries-1))
	}
	return wait - rand.N(wait/4) // several do not come at once
}

// skip goes on with the oldest event that is there, after those behind the place were
// removed with age, and notes that.
func (w *Worker) skip(ctx context.Context) error {
	last := w.state.Place.N
	v := store.Delivery{URL: w.URL, N: -1 - last, ID: w.id(-1 - last), Error: fmt.Sprintf("events after %d were removed with age before they were delivered", last)}
	body, err := json.Marshal(Message{ID: v.ID, Home: w.Home, LostAfter: last})
	if err != nil {
		return fika.Wrap(fika.Failed, "webhook", err)
	}
	v.Body = string(body)
	w.state.Place = store.Cursor{}
	return w.Rows.RefuseDelivery(ctx, w.state, v)
}

// short returns the beginning of a text of others.
func short(text string) string {
	const most = 300
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
