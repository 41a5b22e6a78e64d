package nats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/bustest"
)

// inbox is the hub's side and a foreign publisher.
type inbox struct {
	*inbound
	foreign jetstream.JetStream
	member  bus.Bus // of foreign
}

func newInbox(t *testing.T, h *home, maxBytes int64) inbox {
	t.Helper()
	in, err := h.server.OpenInbound(deadline(t), h.open(t, UserHub), InboundOptions{
		Prefix: "fika", MaxBytes: maxBytes, Log: func(err error) { t.Log(err) },
	})
	must(t, err)
	member := h.open(t, UserMember)
	js, err := jetstream.New(member.(*conn).nc)
	must(t, err)
	return inbox{in.(*inbound), js, member}
}

func (in inbox) send(t *testing.T, body string) {
	t.Helper()
	_, err := in.foreign.Publish(deadline(t), "fika.agent.coder.request", []byte(body))
	must(t, err)
}

// consume runs Consume until stop, which joins it.
func (in inbox) consume(t *testing.T, h func(context.Context, bus.Msg) error) (stop func()) {
	t.Helper()
	return consuming(t, in, h)
}

// consuming runs the Consume of any inbound until stop, which joins it.
func consuming(t *testing.T, in bus.Inbound, h func(context.Context, bus.Msg) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- in.Consume(ctx, h) }()
	stop = sync.OnceFunc(func() {
		cancel()
		must(t, next(t, ended))
	})
	t.Cleanup(stop)
	return stop
}

// collect gives a handler that sends the bodies on, and takes all.
func collect() (<-chan string, func(context.Context, bus.Msg) error) {
	c := make(chan string, 1024)
	return c, func(_ context.Context, m bus.Msg) error {
		c <- string(m.Data)
		return nil
	}
}

func (in inbox) stored(t *testing.T) uint64 {
	t.Helper()
	info, err := in.openedStream().Info(deadline(t))
	must(t, err)
	return info.State.Msgs
}

func TestInboundKeepsUntilRead(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 0)
	for i := range 300 {
		in.send(t, fmt.Sprint(i))
	}
	must(t, h.server.Restart(deadline(t)))
	got, handler := collect()
	stop := in.consume(t, handler)
	for i := range 300 {
		if body := next(t, got); body != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, body)
		}
	}
	stop()
	if n := in.stored(t); n != 0 {
		t.Errorf("%d read messages still use space", n)
	}
}

func TestInboundGoesOnThroughRestart(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 0)
	got, handler := collect()
	in.consume(t, handler)
	for i := range 3 {
		in.send(t, fmt.Sprint(i))
		if body := next(t, got); body != fmt.Sprint(i) {
			t.Fatalf("got %q, want %d", body, i)
		}
		must(t, h.server.Restart(deadline(t)))
		must(t, in.member.Flush(deadline(t)))
	}
}

// TestInboundLostStream: a power failure takes from the stream what it has of
// the last messages, or its own description, but not what its reader has noted.
// What comes then is read all the same.
func TestInboundLostStream(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string][]string{"description": {"meta.sum"}, "messages": {"msgs/*"}, "both": {"meta.sum", "msgs/*"}} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			in := newInbox(t, h, 0)
			got, handler := collect()
			stop := in.consume(t, handler)
			for i := range 5 {
				in.send(t, fmt.Sprint(i))
				next(t, got)
			}
			stop()
			h.down(t)
			dir := filepath.Join(h.dir, "jetstream", "jetstream", "$G", "streams", streamName("fika"))
			for _, what := range lost {
				found, err := filepath.Glob(filepath.Join(dir, what))
				must(t, err)
				if len(found) == 0 {
					t.Fatalf("no %s in %s", what, dir)
				}
				for _, path := range found {
					must(t, os.Truncate(path, 0))
				}
			}
			h.up(t)
			in = newInbox(t, h, 0)
			in.consume(t, handler)
			for i := range 3 {
				in.send(t, fmt.Sprint("new ", i))
				if body := next(t, got); body != fmt.Sprint("new ", i) {
					t.Errorf("got %q", body)
				}
			}
		})
	}
}

// TestInboundPoison: a message that cannot be handled holds up nobody and
// comes again.
func TestInboundPoison(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	in := newInbox(t, h, 0)
	in.send(t, "poison")
	in.send(t, "good")
	got := make(chan string, 16)
	fail := true
	stop := in.consume(t, func(_ context.Context, m bus.Msg) error {
		got <- string(m.Data)
		if string(m.Data) == "poison" && fail {
			fail = false
			return errors.New("the disk is full")
		}
		return nil
	})
	for _, want := range []string{"poison", "good", "poison"} {
		if body := next(t, got); body != want {
			t.Fatalf("got %q, want %q", body, want)
		}
	}
	stop()
	if n := in.stored(t); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// TestInboundStoresOnlyRequests: bells and all else stay out of the stream.
func TestInboundStoresOnlyRequests(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 0)
	b := h.open(t, UserHub)
	s := bus.Subjects{Prefix: "fika"}
	for _, subject := range []string{s.Bell("coder"), s.Status("coder"), s.Response("coder"), s.Heartbeat("coder"), s.Control("coder"), s.Chat("room"), s.Hub(), s.Dead(), "other.agent.coder.request"} {
		must(t, b.Publish(subject, []byte("x")))
	}
	must(t, b.Publish(s.Request("coder"), []byte("x")))
	must(t, b.Flush(deadline(t)))
	in.send(t, "last")
	if n := in.stored(t); n != 2 {
		t.Errorf("the stream holds %d messages, want the 2 requests", n)
	}
}

func TestInboundLimits(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 3<<20)
	must(t, in.Probe(deadline(t), patience))
	body := strings.Repeat("x", 512<<10)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = in.foreign.Publish(deadline(t), "fika.agent.coder.request", []byte(body))
	}
	if n > 8 {
		t.Fatalf("%d messages of 512 KiB were taken into 3 MiB", n)
	}
	for err == nil || !strings.Contains(err.Error(), "maximum bytes") {
		t.Fatalf("the publisher was told %v", err)
	}
	for len(body) > 0 { // fill the rest, so that not even a canary fits
		body = body[:len(body)/2]
		_, _ = in.foreign.Publish(deadline(t), "fika.agent.coder.request", []byte(body))
	}
	for range 100 {
		if _, err := in.foreign.Publish(deadline(t), "fika.agent.coder.request", nil); err != nil {
			break
		}
	}
	wantKind(t, in.Probe(deadline(t), patience), fika.Limit, "full")
	got, handler := collect()
	in.consume(t, handler)
	for range n - 1 {
		next(t, got)
	}
	for ctx := deadline(t); ctx.Err() == nil && in.Probe(ctx, patience) != nil; { // until the purge has come
	}
	must(t, in.Probe(deadline(t), patience))
}

func TestProbe(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 0)
	got, handler := collect()
	in.consume(t, handler)
	seen := make(chan string, 16)
	watcher := h.open(t, UserMember)
	_, err := watcher.Subscribe("fika.>", func(m bus.Msg) { seen <- m.Subject })
	must(t, err)
	must(t, watcher.Flush(deadline(t))) // the server knows of it
	for range 3 {
		must(t, in.Probe(deadline(t), patience))
	}
	if n := in.stored(t); n != 0 {
		t.Errorf("%d canaries are left", n)
	}
	in.send(t, "work")
	if body := next(t, got); body != "work" {
		t.Errorf("the hub was handed %q", body)
	}
	for next(t, seen) != "fika.agent.coder.request" {
		t.Error("somebody who watches all subjects saw a canary")
	}
	must(t, h.server.ns.DisableJetStream())
	wantKind(t, in.Probe(deadline(t), 200*time.Millisecond), fika.Storage)
}

func TestInboundRefuses(t *testing.T) {
	h := newHome(t)
	ctx := deadline(t)
	_, err := h.server.OpenInbound(ctx, bustest.Memory(), InboundOptions{Prefix: "fika"})
	wantKind(t, err, fika.NotFound)
	if !errors.Is(err, ErrNoJetStream) {
		t.Errorf("error is %v", err)
	}
	b := h.open(t, UserHub)
	_, err = h.server.OpenInbound(ctx, b, InboundOptions{Prefix: "a b"})
	wantKind(t, err, fika.Invalid)
	_, err = h.server.OpenInbound(ctx, b, InboundOptions{Prefix: "a.b"})
	must(t, err)
	_, err = h.server.OpenInbound(ctx, b, InboundOptions{Prefix: "a_b"})
	wantKind(t, err, fika.Conflict, "A_B_REQUESTS", "subject_prefix")
	in, err := h.server.OpenInbound(ctx, b, InboundOptions{Prefix: "a.b", MaxBytes: 1 << 20})
	must(t, err)
	if n := in.(*inbound).openedStream().CachedInfo().Config.MaxBytes; n != 1<<20 {
		t.Errorf("the stream's size is %d", n)
	}
}
