package nats

import (
	"context"
	"errors"
	"testing"
	"time"

	"fika"
	"fika/internal/bus"
)

// TestReadStream: a member reads how the stream is, and can do no more to it.
func TestReadStream(t *testing.T) {
	h := newHome(t)
	_, err := ReadStream(deadline(t), h.open(t, UserMember), "fika")
	wantKind(t, err, fika.Storage)
	if errors.Is(err, ErrNoJetStream) {
		t.Errorf("the server keeps messages, but: %v", err)
	}
	in := newInbox(t, h, 1<<20)
	for range 3 {
		in.send(t, "body")
	}
	ctx := deadline(t)
	s, err := ReadStream(ctx, in.member, "fika")
	for err == nil && s.Unread < 3 { // the server tells the consumer after the publisher
		s, err = ReadStream(ctx, in.member, "fika")
	}
	must(t, err)
	if s.Name != "FIKA_REQUESTS" || s.Unread != 3 || s.Bytes == 0 || s.MaxBytes != 1<<20 || !s.ReadAt.IsZero() {
		t.Errorf("unread: %+v", s)
	}
	got, handler := collect()
	stop := in.consume(t, handler)
	for range 3 {
		next(t, got)
	}
	stop()
	must(t, in.inbound.Probe(deadline(t), patience))
	if s, err = ReadStream(deadline(t), in.member, "fika"); err != nil || s.Unread != 0 || s.Bytes != 0 || s.ReadAt.IsZero() {
		t.Errorf("read: %+v, %v", s, err)
	}
	if d, err := RoundTrip(in.member); err != nil || d <= 0 || d > patience {
		t.Errorf("round trip %s, %v", d, err)
	}
	in.send(t, "stays")
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := in.foreign.DeleteStream(short, s.Name); err == nil || in.stored(t) != 1 {
		t.Errorf("a member deletes the stream: %v", err)
	}
	_, err = ReadStream(deadline(t), bus.Nobody{}, "fika")
	wantKind(t, err, fika.NotFound)
}
