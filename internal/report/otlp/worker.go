package otlp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/report/delivery"
	"fika/internal/report/trace"
	"fika/internal/store"
	"fika/internal/system/crash"
)

const (
	// brokenTries is how often a batch is tried that makes a collector fail.
	brokenTries = 5
	// page is how many events are read at once, and together how many requests.
	page     = 500
	together = 64
	// maxSpans and maxBytes bound what is posted at once; a larger span is posted alone.
	maxSpans = 512
	maxBytes = 1 << 20
)

// History is what has happened. [store.Store] implements it.
type History interface {
	Tail(store.Cursor) *store.Tail
	Request(context.Context, fika.RequestID) (store.RequestInfo, error)
	Trace(context.Context, []store.RequestInfo) ([]store.Traced, error)
	Causes(context.Context, []store.RequestInfo) (map[fika.RequestID][]store.Cause, error)
}

// Worker sends the spans of a home to one collector. It is for one goroutine.
type Worker struct {
	delivery.Place // of the collector
	Resource       Resource
	Projection
	History History
	// Post sends a body once; see [Poster.Post].
	Post func(ctx context.Context, body []byte) (rejects int64, why string, err error)
	Lost func(text string) // told of spans that are not sent again
}

// Run sends spans until ctx ends. Trouble with the database is given to failed, and the
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
	tail, kept := w.History.Tail(w.State.Place), w.State.Place
	for {
		list, err := tail.Next(ctx, page, false)
		switch {
		case errors.Is(err, store.ErrReset):
			return 0, w.skip(ctx)
		case err != nil:
			return 0, err
		case len(list) == 0:
			return delivery.LookEvery, nil
		}
		var ended []fika.RequestID
		for i, e := range list {
			if e.Kind == store.RequestEvent && fika.RequestState(e.State).Terminal() {
				ended = append(ended, e.Request)
			}
			if len(ended) < together && i < len(list)-1 {
				continue
			}
			if wait, err := w.send(ctx, ended, e.N); wait > 0 || err != nil {
				return wait, err
			}
			w.State.Place = e.Cursor()
			if len(ended) > 0 || w.State.Place.N-kept.N > delivery.KeepEvery { // else read once more after a restart
				if err := w.Rows.KeepWebhook(ctx, w.State); err != nil {
					return 0, err
				}
				ended, kept = nil, w.State.Place
			}
		}
	}
}

// send sends the spans of requests that have ended, the last of them by the event n.
func (w *Worker) send(ctx context.Context, ended []fika.RequestID, n int64) (time.Duration, error) {
	var list []store.RequestInfo
	for _, id := range ended {
		r, err := w.History.Request(ctx, id)
		switch {
		case fika.IsKind(err, fika.NotFound), err == nil && (r.ID != id || !r.State.Terminal()): // it was deleted
			continue
		case err != nil:
			return 0, err
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return 0, nil
	}
	rows, err := w.History.Trace(ctx, list)
	if err != nil {
		return 0, err
	}
	causes, err := w.History.Causes(ctx, list)
	if err != nil {
		return 0, err
	}
	next := batch{n: n}
	for _, r := range rows {
		for _, s := range w.Spans(r, causes[r.ID]) {
			raw, err := json.Marshal(s)
			if err != nil {
				return 0, fika.Wrap(fika.Failed, "otlp", err)
			}
			if len(next.spans) == maxSpans || len(next.spans) > 0 && next.bytes+len(raw) > maxBytes {
				if wait, err := w.try(ctx, next); wait > 0 || err != nil {
					return wait, err
				}
				next = batch{n: n}
			}
			next.add(r.ID, raw)
		}
	}
	return w.try(ctx, next)
}

// batch is what is posted at once.
type batch struct {
	n        int64 // the event that ended the last of its requests
	requests []fika.RequestID
	spans    []json.RawMessage
	bytes    int
}

func (b *batch) add(request fika.RequestID, span json.RawMessage) {
	if n := len(b.requests); n == 0 || b.requests[n-1] != request {
		b.requests = append(b.requests, request)
	}
	b.spans, b.bytes = append(b.spans, span), b.bytes+len(span)
}

// dropped is the body of the row about a batch that was refused.
type dropped struct {
	Spans    int64            `json:"spans"`
	Requests []fika.RequestID `json:"requests"`
}

// try posts a batch, in halves if it is too large. If that fails, it stores that, and
// returns how long to wait until the next attempt. What the collector refuses is stored as
// refused.
func (w *Worker) try(ctx context.Context, b batch) (time.Duration, error) {
	body, err := w.Resource.export(b.spans)
	if err != nil {
		return 0, fika.Wrap(fika.Failed, "otlp", err)
	}
	rejects, why, err := w.Post(ctx, body)
	crash.Point("post spans")
	if half := len(b.spans) / 2; errors.Is(err, errLarge) && half > 0 {
		for _, spans := range [][]json.RawMessage{b.spans[:half], b.spans[half:]} {
			if wait, err := w.try(ctx, batch{n: b.n, requests: b.requests, spans: spans}); wait > 0 || err != nil {
				return wait, err
			}
		}
		return 0, nil
	}
	var later failing
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(err, &later) && !(later.broken && w.State.Tries+1 >= brokenTries):
		return w.Failed(ctx, err, later.after)
	case err != nil:
		rejects, why = int64(len(b.spans)), err.Error()
	case rejects == 0:
		w.State.Delivered = w.Now()
	}
	w.Settled()
	if rejects == 0 {
		return 0, nil
	}
	why = fmt.Sprintf("%d of %d spans refused: %s", rejects, len(b.spans), delivery.Short(w.Redact(why)))
	w.Lost(why)
	raw, err := json.Marshal(dropped{rejects, b.requests})
	if err != nil {
		return 0, fika.Wrap(fika.Failed, "otlp", err)
	}
	return 0, w.Rows.RefuseDelivery(ctx, w.State, store.Delivery{URL: w.Receiver, N: b.n, ID: "otlp_" + trace.Hash(16, w.Home, w.Receiver, b.n), Body: string(raw), Error: why})
}

// again sends the spans that were refused and that a person wants sent again.
func (w *Worker) again(ctx context.Context) (time.Duration, error) {
	list, err := w.Rows.Deliveries(ctx, w.Receiver, true)
	if err != nil {
		return 0, err
	}
	for _, v := range list {
		var d dropped
		if err := json.Unmarshal([]byte(v.Body), &d); err != nil {
			return 0, fika.Wrap(fika.Failed, "otlp", err)
		}
		if wait, err := w.send(ctx, d.Requests, v.N); wait > 0 || err != nil {
			return wait, err
		}
		left, err := w.Rows.Deliveries(ctx, w.Receiver, true)
		if err != nil {
			return 0, err
		}
		if slices.ContainsFunc(left, func(o store.Delivery) bool { return o.N == v.N }) { // else it was refused again
			if err := w.Rows.EndDelivery(ctx, v); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// skip goes on with the oldest event that is there, after those behind the place were
// removed with age.
func (w *Worker) skip(ctx context.Context) error {
	last := w.State.Place.N
	text := fmt.Sprintf("events after %d were removed with age before their spans were sent", last)
	w.Lost(text)
	w.State.Place = store.Cursor{}
	return w.Rows.RefuseDelivery(ctx, w.State, store.Delivery{
		URL: w.Receiver, N: -1 - last, ID: "otlp_" + trace.Hash(16, w.Home, w.Receiver, -1-last), Body: `{"spans":0,"requests":[]}`, Error: text,
	})
}
