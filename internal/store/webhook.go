package store

import (
	"context"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Webhooks keeps how far the receivers of events are, and what they have refused.
type Webhooks struct{ *db }

// WebhookState is how a receiver of events stands.
type WebhookState struct {
	URL       string
	Place     Cursor    // behind the last event that it has got, refused or did not want
	Delivered time.Time // when it last took one; zero: never
	// These are about the event that is tried now, since an attempt has failed.
	Tries   int
	Error   string
	Failing time.Time // since when
	Next    time.Time // of the next attempt
}

// Delivery is an event that a receiver has refused.
type Delivery struct {
	URL    string
	N      int64  // of the event; -1-n for what says that events up to n are gone
	ID     string // the same each time that it is sent
	Body   string
	State  DeliveryState
	Error  string
	Failed time.Time // last
}

// DeliveryState is the state of a delivery that has failed.
type DeliveryState string

// The states of deliveries. What was delivered has no row.
const (
	DeliveryFailed DeliveryState = "failed"
	DeliveryAgain  DeliveryState = "again" // a person wants it sent again
)

// mostDeliveries is how many of a receiver are kept; the oldest go first.
const mostDeliveries = 1000

const (
	selectWebhook  = `SELECT w.url, w.place, w.delivered_at, w.tries, w.error, w.failing_at, w.next_at FROM webhooks w`
	selectDelivery = `SELECT v.url, v.n, v.id, v.body, v.state, v.error, v.failed_at FROM deliveries v`
)

func scanWebhook(s scanner) (w WebhookState, err error) {
	var place string
	var delivered, tries, failing, next int64
	if err = s.Scan(&w.URL, &place, &delivered, &tries, &w.Error, &failing, &next); err != nil {
		return w, err
	}
	w.Delivered, w.Tries, w.Failing, w.Next = at(delivered), int(tries), at(failing), at(next)
	w.Place, err = ParseCursor(place)
	return w, err
}

func scanDelivery(s scanner) (v Delivery, err error) {
	var failed int64
	err = s.Scan(&v.URL, &v.N, &v.ID, &v.Body, &v.State, &v.Error, &failed)
	v.Failed = at(failed)
	return v, err
}

// Webhook returns how a receiver stands. One that is new begins behind what was committed
// so far.
func (s Webhooks) Webhook(ctx context.Context, url string) (WebhookState, error) {
	const op = "read webhook"
	w, found, err := one(ctx, s.r, scanWebhook, selectWebhook+` WHERE w.url = ?`, url)
	if err != nil || found {
		return w, s.explain(op, err)
	}
	from, err := Events(s).Confirmed(ctx)
	if err != nil {
		return w, err
	}
	err = s.write(ctx, "begin webhook", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `INSERT INTO webhooks (url, place) VALUES (?, ?) ON CONFLICT DO NOTHING`, url, from.String())
	})
	return WebhookState{URL: url, Place: from}, err
}

// ListWebhooks returns how all receivers stand that there ever were.
func (s Webhooks) ListWebhooks(ctx context.Context) ([]WebhookState, error) {
	list, err := many(ctx, s.r, scanWebhook, selectWebhook+` ORDER BY w.url`)
	return list, s.explain("list webhooks", err)
}

// KeepWebhook stores how a receiver stands.
func (s Webhooks) KeepWebhook(ctx context.Context, w WebhookState) error {
	return s.write(ctx, "keep webhook", func(ctx context.Context, t *tx) error { return webhooksIn(t).keep(ctx, w) })
}

// RefuseDelivery stores an event that a receiver has refused, and how the receiver then
// stands. Of the refused events of a receiver the newest thousand are kept.
func (s Webhooks) RefuseDelivery(ctx context.Context, w WebhookState, v Delivery) error {
	return s.write(ctx, "refuse delivery", func(ctx context.Context, t *tx) error {
		if err := t.put(ctx, `INSERT INTO deliveries (url, n, id, body, state, error, failed_at) VALUES (?, ?, ?, ?, 'failed', ?, ?)
ON CONFLICT (url, n) DO UPDATE SET state = 'failed', error = excluded.error, failed_at = excluded.failed_at`, v.URL, v.N, v.ID, v.Body, v.Error, t.now); err != nil {
			return err
		}
		if err := t.put(ctx, `DELETE FROM deliveries WHERE url = ? AND n <= COALESCE((SELECT o.n FROM deliveries o WHERE o.url = ? ORDER BY o.n DESC LIMIT 1 OFFSET ?), -9223372036854775807)`,
			v.URL, v.URL, int64(mostDeliveries)); err != nil {
			return err
		}
		return webhooksIn(t).keep(ctx, w)
	})
}

// EndDelivery removes a refused event that was taken after all.
func (s Webhooks) EndDelivery(ctx context.Context, v Delivery) error {
	return s.write(ctx, "end delivery", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `DELETE FROM deliveries WHERE url = ? AND n = ?`, v.URL, v.N)
	})
}

// Deliveries returns what a receiver (empty: any) has refused, oldest first: all, or what
// is to be sent again.
func (s Webhooks) Deliveries(ctx context.Context, url string, again bool) ([]Delivery, error) {
	where, args := ` WHERE (? = '' OR v.url = ?)`, []any{url, url}
	if again {
		where += ` AND v.state = 'again'`
	}
	list, err := many(ctx, s.r, scanDelivery, selectDelivery+where+` ORDER BY v.url, v.n`, args...)
	return list, s.explain("list deliveries", err)
}

// RetryDeliveries has refused events sent again: that of an id, or all if it is empty. It
// returns how many there are, and lets receivers that fail be tried at once. It fails with
// NotFound for an id that no refused event has.
func (s Webhooks) RetryDeliveries(ctx context.Context, id string) (n int64, err error) {
	const op = "retry delivery"
	err = s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		if n, err = t.exec(ctx, `UPDATE deliveries SET state = 'again' WHERE ? = '' OR id = ?`, id, id); err != nil {
			return err
		}
		if n == 0 && id != "" {
			return fika.WithHint(fika.Errorf(fika.NotFound, op, "delivery %q not found", id), hint.WebhookList.With())
		}
		return t.put(ctx, `UPDATE webhooks SET next_at = 0 WHERE next_at > 0`)
	})
	return n, err
}

// webhookRows writes rows of receivers.
type webhookRows struct{ *tx }

func webhooksIn(t *tx) webhookRows { return webhookRows{t} }

func (t webhookRows) keep(ctx context.Context, w WebhookState) error {
	return t.put(ctx, `UPDATE webhooks SET place = ?, delivered_at = ?, tries = ?, error = ?, failing_at = ?, next_at = ? WHERE url = ?`,
		w.Place.String(), ms(w.Delivered), w.Tries, w.Error, ms(w.Failing), ms(w.Next), w.URL)
}
