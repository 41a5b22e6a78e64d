package nats

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/bus"
)

const (
	plainRetry    = 10 * time.Second       // between two looks for a stream
	plainPatience = 500 * time.Millisecond // for one such look
	streamTries   = 3                      // before giving up for a while on a stream that cannot be opened
)

// notOpened marks the error of a stream that could not even be opened.
type notOpened struct{ error }

// Unwrap returns the marked error.
func (e notOpened) Unwrap() error { return e.error }

// external reads the requests from a server that is not fika's own: from its stream while
// it keeps one, otherwise through a plain subscription, which hears only what is sent
// while the hub is up. It looks for the stream again now and then, so that a server may
// gain or lose JetStream without a restart here.
type external struct {
	stream *inbound
	conn   *conn
	look   time.Duration // between two looks for a stream
	plain  atomic.Bool
	// The plain subscription; Consume owns these once it runs.
	sub  bus.Subscription
	work chan bus.Msg // capacity 0: messages wait in the client's buffer, 64 MiB at most
	stop chan struct{}
}

// OpenExternal prepares to read the requests that come through a server that is not
// fika's own. If that server keeps no stream, requests are heard all the same; unkept
// then says why it keeps none, and is nil otherwise. Error kinds: Invalid for a bad
// prefix, NotFound without a bus, Failed when the connection is closed.
func OpenExternal(ctx context.Context, b bus.Bus, o InboundOptions) (in bus.Inbound, unkept, err error) {
	c, ok := b.(*conn)
	if !ok {
		return nil, nil, fika.Errorf(fika.NotFound, "open inbound stream", "no bus")
	}
	stream, err := newInbound(c, o)
	if err != nil {
		return nil, nil, err
	}
	x := &external{stream: stream, conn: c, look: plainRetry}
	if _, unkept = stream.openConsumer(ctx); unkept == nil {
		return x, nil, nil
	}
	if ctx.Err() != nil {
		return nil, nil, unkept
	}
	return x, unkept, x.listenPlain(ctx)
}

// listenPlain begins to hear requests without a stream, and returns when the server knows
// of the subscription.
func (x *external) listenPlain(ctx context.Context) error {
	x.work, x.stop = make(chan bus.Msg), make(chan struct{})
	work, stop := x.work, x.stop
	sub, err := x.conn.Subscribe(x.stream.requestSubject(), func(m bus.Msg) {
		select {
		case work <- m:
		case <-stop:
		}
	})
	if err != nil {
		return err
	}
	x.sub = sub
	x.plain.Store(true)
	_ = x.conn.Flush(ctx) // the subscription is renewed with the connection
	return nil
}

// Consume implements bus.Inbound. Without a stream, a message whose handler fails is
// tried again while later ones wait; messages not handled when ctx ends are lost.
func (x *external) Consume(ctx context.Context, h func(context.Context, bus.Msg) error) error {
	for ctx.Err() == nil {
		if x.plain.Load() {
			if err := x.consumePlain(ctx, h); err != nil {
				return err
			}
			continue
		}
		err := x.consumeStream(ctx, h)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, nats.ErrConnectionClosed) {
			return fika.Wrap(fika.Failed, "read foreign requests", err)
		}
		x.stream.complainOnce(err)
		if err := x.listenPlain(ctx); err != nil {
			return err
		}
	}
	return nil
}

// consumeStream reads the stream until ctx ends or it cannot be opened.
func (x *external) consumeStream(ctx context.Context, h func(context.Context, bus.Msg) error) error {
	for tries := 0; ; {
		err := x.stream.consumeOnce(ctx, h)
		if ctx.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, ErrNoJetStream) {
			return err
		}
		var closed notOpened
		if tries++; !errors.As(err, &closed) || !x.conn.nc.IsConnected() {
			tries = 0 // the stream was read, or nothing can be known
		}
		if tries >= streamTries {
			return err
		}
		x.stream.complainOnce(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(consumeWait):
		}
	}
}

// consumePlain handles what the subscription hears until ctx ends or the server keeps a
// stream.
func (x *external) consumePlain(ctx context.Context, h func(context.Context, bus.Msg) error) error {
	look := time.NewTicker(x.look)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return x.endPlain()
		case m := <-x.work:
			x.handleUntilTaken(ctx, m, h)
		case <-look.C:
			if x.lookForStream(ctx) {
				return x.endPlain()
			}
		}
	}
}

func (x *external) lookForStream(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, plainPatience)
	defer cancel()
	_, err := x.stream.openConsumer(ctx)
	return err == nil
}

// endPlain ends the plain subscription. Messages it had not handed over are in the
// stream, if there is one by now.
func (x *external) endPlain() error {
	x.plain.Store(false)
	close(x.stop)
	return x.sub.Close()
}

// handleUntilTaken retries until h accepts the message or ctx ends.
func (x *external) handleUntilTaken(ctx context.Context, m bus.Msg, h func(context.Context, bus.Msg) error) {
	m.Respond = func([]byte) error { return nil }
	for wait := firstNak; ; wait = min(2*wait, longestNak) {
		err := h(ctx, m)
		if err == nil {
			return
		}
		x.stream.complainOnce(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Probe implements bus.Inbound. Without a stream it returns nil: there is nothing to
// probe.
func (x *external) Probe(ctx context.Context, d time.Duration) error {
	if x.plain.Load() {
		return nil
	}
	return x.stream.Probe(ctx, d)
}

// UnkeptWarning explains what it means that a server keeps no requests, and why it keeps
// none.
func UnkeptWarning(why error) string {
	const so = "requests of other programs are taken only while the hub runs, and what they send while it is down is LOST"
	if errors.Is(why, ErrNoJetStream) {
		return "this NATS server has no JetStream: " + so + " (start it with nats-server -js, or take server out of [nats] to use fika's own)"
	}
	return "the stream of requests cannot be used (" + why.Error() + "): " + so
}
