package delivery

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"fika/internal/store"
)

const (
	// FirstWait is how long the second attempt comes after the first, and LastWait how far
	// apart attempts are at most.
	FirstWait = time.Second
	LastWait  = 5 * time.Minute
	// LookEvery is how often the database is looked at for something new.
	LookEvery = time.Second
	// KeepEvery is after how many events that are not sent the place is stored; what lies
	// behind it is read once more after a restart.
	KeepEvery = 1000
	// maxError is how many bytes of what a receiver answers are kept.
	maxError = 300
)

// Rows keeps how far receivers are. [store.Webhooks] implements it.
type Rows interface {
	Webhook(ctx context.Context, receiver string) (store.WebhookState, error)
	KeepWebhook(context.Context, store.WebhookState) error
	RefuseDelivery(context.Context, store.WebhookState, store.Delivery) error
	EndDelivery(context.Context, store.Delivery) error
	Deliveries(ctx context.Context, receiver string, again bool) ([]store.Delivery, error)
}

// Place is how far one receiver is. It is for one goroutine.
type Place struct {
	Receiver string // under which Rows has it
	Rows     Rows
	Now      func() time.Time
	State    store.WebhookState // once [Place.Due] has read it; the sender stores it

	begun bool
}

// Run calls step until ctx ends: at once while it returns 0, else after the time that it
// returns, and at least each [LookEvery]. Errors are given to failed, and it goes on.
func (p *Place) Run(ctx context.Context, step func(context.Context) (time.Duration, error), failed func(error)) {
	for ctx.Err() == nil {
		wait, err := step(ctx)
		if err != nil && ctx.Err() == nil {
			failed(err)
			wait, p.begun = LastWait/10, false
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, LookEvery)):
		}
	}
}

// Due reads how far the receiver is, and returns how long it is not to be tried yet. A
// person may have wanted it tried at once in the meantime.
func (p *Place) Due(ctx context.Context) (time.Duration, error) {
	if !p.begun || !p.State.Next.IsZero() {
		state, err := p.Rows.Webhook(ctx, p.Receiver)
		if err != nil {
			return 0, err
		}
		p.State, p.begun = state, true
	}
	return max(0, p.State.Next.Sub(p.Now())), nil
}

// Failed stores that an attempt has failed, and returns how long to wait until the next:
// longer each time, and no less than least.
func (p *Place) Failed(ctx context.Context, cause error, least time.Duration) (time.Duration, error) {
	now := p.Now()
	if p.State.Tries == 0 {
		p.State.Failing = now
	}
	p.State.Tries++
	p.State.Error = Short(cause.Error())
	wait := LastWait
	if p.State.Tries < 10 {
		wait = min(wait, FirstWait<<(p.State.Tries-1))
	}
	wait = max(wait-rand.N(wait/4), least) // several do not come at once
	p.State.Next = now.Add(wait)
	return wait, p.Rows.KeepWebhook(ctx, p.State)
}

// Settled forgets failed attempts: the receiver has what was sent, or does not want it. It
// stores nothing.
func (p *Place) Settled() {
	p.State.Tries, p.State.Error, p.State.Failing, p.State.Next = 0, "", time.Time{}, time.Time{}
}

// Short returns the beginning of what a receiver says.
func Short(text string) string {
	if len(text) > maxError {
		return strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	return text
}
