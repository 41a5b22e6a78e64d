package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"fika/internal/bus"
)

// Probe tries a server as the bus of several hosts, and changes nothing on it. It returns
// what has to be different first. ours, which may be nil, reports whether a database, by its id,
// is that of these hosts.
func Probe(ctx context.Context, o Options, prefix string, ours func(store string) bool) (lacks []string) {
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
	if v := c.nc.ConnectedServerVersion(); !keepsRequests(v) {
		lack("the NATS server at %s is %s: 2.10 or newer is needed to keep what other programs ask", redactServers(o.URL), v)
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if other, err := b.Request(ctx, bus.Subjects{Prefix: prefix}.HubStore(), nil); err == nil && ours != nil && !ours(string(other)) {
		lack("hubs of another database use the subject_prefix %s on this bus: another one is needed", prefix)
	}
	if in.js, err = jetstream.New(c.nc); err != nil {
		lack("%v", err)
		return lacks
	}
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

// keepsRequests reports whether a server of a version can filter a stream by several
// subjects, as the consumer of requests does: 2.10 was the first.
func keepsRequests(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return true // what it is cannot be told: trying will tell
	}
	return major > 2 || major == 2 && minor >= 10
}
