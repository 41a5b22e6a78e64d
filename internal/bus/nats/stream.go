package nats

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fika"
	"fika/internal/bus"
)

// StreamState is the state of the stream of foreign requests.
type StreamState struct {
	Name     string
	Unread   uint64    // requests that no hub has turned into rows yet
	Bytes    uint64    // on disk
	MaxBytes int64     // beyond it requests are refused
	ReadAt   time.Time // when the last request was read; zero if not known
}

// ReadStream asks the server of b for the state of the stream of a prefix; nothing is
// created or changed. On the embedded server [UserHub] and [UserMember] may ask. Error
// kinds: NotFound without a bus, and NotFound wrapping [ErrNoJetStream] when the server
// stores nothing at all; Storage when there is no such stream yet.
func ReadStream(ctx context.Context, b bus.Bus, prefix string) (StreamState, error) {
	s := StreamState{Name: streamName(prefix)}
	c, ok := b.(*conn)
	if !ok {
		return s, fika.Errorf(fika.NotFound, "read stream", "no bus")
	}
	js, err := jetstream.New(c.nc)
	if err != nil {
		return s, fika.Wrap(fika.Failed, "read stream", err)
	}
	stream, err := js.Stream(ctx, s.Name)
	if err != nil {
		return s, streamError("read stream "+s.Name, err)
	}
	info := stream.CachedInfo()
	s.Bytes, s.MaxBytes, s.Unread = info.State.Bytes, info.Config.MaxBytes, info.State.Msgs
	cons, err := stream.Consumer(ctx, hubConsumer)
	if err != nil {
		return s, streamError("read consumer of "+s.Name, err)
	}
	// The stream's count includes messages that were read and not yet removed, and the
	// canary.
	read := cons.CachedInfo()
	s.Unread = read.NumPending + uint64(read.NumAckPending)
	if read.AckFloor.Last != nil {
		s.ReadAt = *read.AckFloor.Last
	}
	return s, nil
}

// RoundTrip measures how long the server of b takes to answer.
func RoundTrip(b bus.Bus) (time.Duration, error) {
	c, ok := b.(*conn)
	if !ok {
		return 0, fika.Errorf(fika.NotFound, "reach bus", "no bus")
	}
	d, err := c.nc.RTT()
	return d, fika.Wrap(fika.Failed, "reach bus", err)
}
