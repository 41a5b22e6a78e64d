package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Probe tries a server as the bus of several hosts, and changes nothing on it. It returns
// what has to be different first.
func Probe(ctx context.Context, o Options, prefix string) (lacks []string) {
	lack := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	in := &inbound{opts: InboundOptions{Prefix: prefix}, name: streamName(prefix)}
	if err := CheckPrefix(prefix); err != nil {
		lack("%v", err)
	}
	o.Retry, o.Redial = false, nil
	b, err := Dial(ctx, o)
	if err != nil {
		lack("%v", err)
		return lacks
	}
	defer b.Close()
	c, ok := b.(*conn)
	if !ok || len(lacks) > 0 {
		return lacks
	}
	if in.js, err = jetstream.New(c.nc); err != nil {
		lack("%v", err)
		return lacks
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	stream, err := in.js.Stream(ctx, in.name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil:
		if err = streamError("", err); errors.Is(err, ErrNoJetStream) {
			lack("the NATS server at %s has no JetStream for this login, which keeps what other programs ask while no hub is up: start it with nats-server -js, or give the account JetStream", redactServers(o.URL))
		} else {
			lack("the stream %s at %s: %v", in.name, redactServers(o.URL), err)
		}
	case !in.knownBefore(stream.CachedInfo().Config.Subjects) && !sameSubjects(stream.CachedInfo().Config.Subjects, in.streamConfig().Subjects):
		lack("a stream named %s is there and takes %s: another subject_prefix is needed", in.name, strings.Join(stream.CachedInfo().Config.Subjects, ", "))
	}
	return lacks
}
