package nats

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fika"
	"fika/internal/bus"
	"fika/internal/system/crash"
)

// ErrNoJetStream says that the server stores no messages, so that what foreign publishers
// send while the hub is away is lost. Test for it with errors.Is.
var ErrNoJetStream = errors.New("the NATS server has no JetStream: requests of foreign programs are not kept while the hub is away")

// InboundOptions describes the stream of foreign requests.
type InboundOptions struct {
	Prefix   string
	MaxBytes int64 // on disk; 256 MiB if zero
	Log      func(error)
}

const (
	defaultStreamBytes = 256 << 20
	maxStreamMsg       = 1 << 20
	hubConsumer        = "hub"
	apiTimeout         = 10 * time.Second
	ackWait            = 20 * time.Second // redelivery of what a killed hub had in hand
	firstNak           = time.Second
	longestNak         = time.Minute
	purgeEvery         = 128
	purgeTimeout       = 2 * time.Second
	pullBatch          = 32
	pullExpiry         = 30 * time.Second
	pullHeartbeat      = 5 * time.Second
	consumeWait        = 500 * time.Millisecond // before looking for the consumer again
)

// inbound is the hub's reader of the stream. The stream takes PREFIX.agent.*.request, or
// the subjects under which the intake stores these, and the canary, which lies outside
// PREFIX so that nobody who watches all subjects sees it; the consumer sees requests
// only.
type inbound struct {
	js      jetstream.JetStream
	opts    InboundOptions
	name    string
	own     *ownStream                       // nil: the server is not fika's own
	current atomic.Pointer[jetstream.Stream] // as it was last opened
	handler atomic.Pointer[handler]          // passed to Consume
}

// handler is the handler passed to Consume.
type handler func(context.Context, bus.Msg) error

// openedStream returns the stream as it was last opened, or nil if it never was.
func (in *inbound) openedStream() jetstream.Stream {
	if s := in.current.Load(); s != nil {
		return *s
	}
	return nil
}

func newInbound(c *conn, o InboundOptions) (*inbound, error) {
	if err := CheckPrefix(o.Prefix); err != nil {
		return nil, err
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultStreamBytes
	}
	js, err := jetstream.New(c.nc)
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "open inbound stream", err)
	}
	return &inbound{js: js, opts: o, name: streamName(o.Prefix)}, nil
}

// streamName returns FIKA_REQUESTS for the prefix fika. Two prefixes may have the same
// stream name; the second is refused when its subjects are compared.
func streamName(prefix string) string {
	return strings.ToUpper(strings.ReplaceAll(prefix, ".", "_")) + "_REQUESTS"
}

// requestSubject returns the subject to which foreign programs publish.
func (in *inbound) requestSubject() string { return in.opts.Prefix + ".agent.*.request" }
func (in *inbound) canarySubject() string  { return canarySubject(in.opts.Prefix) }

// canarySubject returns the subject of the messages with which a hub tries its stream.
func canarySubject(prefix string) string { return "_canary." + prefix }

// storedSubjects returns the subjects under which the stream keeps requests. Members
// exist only on our own server.
func (in *inbound) storedSubjects() []string {
	if in.own != nil {
		return []string{storedPrefix + in.requestSubject(), storedPrefix + memberRequests(in.opts.Prefix)}
	}
	return []string{in.requestSubject()}
}

func (in *inbound) streamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: in.name, Description: "requests of foreign programs, until fika has read them",
		Subjects:  append(in.storedSubjects(), in.canarySubject()),
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage,
		MaxBytes: in.opts.MaxBytes, MaxMsgSize: maxStreamMsg, Duplicates: 2 * time.Minute,
	}
}

// openConsumer finds or creates the stream and the consumer.
func (in *inbound) openConsumer(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	want := in.streamConfig()
	stream, err := in.js.Stream(ctx, in.name)
	made := errors.Is(err, jetstream.ErrStreamNotFound)
	if made {
		stream, err = in.js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, streamError("open inbound stream "+in.name, err)
	}
	have := stream.CachedInfo().Config
	before := in.knownBefore(have.Subjects)
	if !before && !sameSubjects(have.Subjects, want.Subjects) {
		return nil, fika.Errorf(fika.Conflict, "open inbound stream",
			"a stream named %s exists and takes %s: set another subject_prefix, or remove it", in.name, strings.Join(have.Subjects, ", "))
	}
	if before && in.own != nil {
		// A consumer with one filter cannot be given several. A new one begins from the
		// start of the stream, so what was not read yet is carried over.
		if err := stream.DeleteConsumer(ctx, hubConsumer); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil, streamError("carry over inbound stream "+in.name, err)
		}
	}
	if before && in.own != nil || have.MaxBytes != want.MaxBytes || have.MaxMsgSize != want.MaxMsgSize || have.Discard != want.Discard {
		have.Subjects = want.Subjects
		have.MaxBytes, have.MaxMsgSize, have.Discard = want.MaxBytes, want.MaxMsgSize, want.Discard
		if stream, err = in.js.UpdateStream(ctx, have); err != nil {
			return nil, streamError("set limits of inbound stream "+in.name, err)
		}
	}
	in.current.Store(&stream)
	// A consumer whose file is damaged may skip messages in the stream. As long as a
	// request was accepted and not read, a new consumer begins from the start.
	cons, err := in.openReader(ctx, stream, made || in.own.hasUnread())
	return cons, streamError("open consumer of "+in.name, err)
}

// openReader finds or creates the consumer. A consumer that has read beyond the end of
// the stream belongs to a stream that lost its end, or everything, in a power failure: it
// would skip what comes next, so a new consumer begins from the start. Messages that were
// read before and are still there come again, and are recognised.
func (in *inbound) openReader(ctx context.Context, stream jetstream.Stream, madeNow bool) (jetstream.Consumer, error) {
	config := jetstream.ConsumerConfig{
		Durable: hubConsumer, FilterSubjects: in.requestFilters(),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: crash.Pace(ackWait), MaxDeliver: -1, MaxAckPending: 8 * pullBatch,
	}
	cons, err := stream.CreateOrUpdateConsumer(ctx, config)
	if err != nil {
		return nil, err
	}
	read := cons.CachedInfo().Delivered.Stream
	have, err := stream.Info(ctx) // read after the consumer, so that a healthy reader is never ahead of it
	if err != nil || read == 0 || !madeNow && read <= have.State.LastSeq {
		return cons, err
	}
	if err := stream.DeleteConsumer(ctx, hubConsumer); err != nil {
		return nil, err
	}
	return stream.CreateConsumer(ctx, config)
}

// requestFilters returns the subjects of requests in the stream, including those stored
// before there was an intake.
func (in *inbound) requestFilters() []string {
	if in.own == nil {
		return []string{in.requestSubject()}
	}
	return append(in.storedSubjects(), in.requestSubject())
}

// knownBefore reports whether a stream has the subjects that an earlier fika gave it:
// before there was an intake, or before there were members.
func (in *inbound) knownBefore(subjects []string) bool {
	return sameSubjects(subjects, []string{in.requestSubject(), in.canarySubject()}) ||
		in.own != nil && sameSubjects(subjects, []string{storedPrefix + in.requestSubject(), in.canarySubject()})
}

func sameSubjects(have, want []string) bool {
	if len(have) != len(want) {
		return false
	}
	set := map[string]bool{}
	for _, s := range have {
		set[s] = true
	}
	for _, s := range want {
		if !set[s] {
			return false
		}
	}
	return true
}

func streamError(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders):
		return &fika.Error{Kind: fika.NotFound, Op: op, Err: ErrNoJetStream}
	case errors.Is(err, nats.ErrPermissionViolation):
		return fika.Wrap(fika.Denied, op, err)
	default:
		return fika.Wrap(fika.Storage, op, err)
	}
}

// Consume implements bus.Inbound. A message whose handler fails comes again after 1 s,
// with a delay that doubles up to a minute; later messages go on meanwhile. It survives
// reconnects and restarts of the server, and returns nil when ctx ends. Error kind:
// Failed when the connection is closed.
func (in *inbound) Consume(ctx context.Context, h func(context.Context, bus.Msg) error) error {
	tell := handler(h)
	in.handler.Store(&tell)
	for ctx.Err() == nil {
		err := in.consumeOnce(ctx, h)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, nats.ErrConnectionClosed) {
			return fika.Wrap(fika.Failed, "read foreign requests", err)
		}
		in.complainOnce(err)
		select {
		case <-ctx.Done():
		case <-time.After(consumeWait):
		}
	}
	return nil
}

func (in *inbound) complainOnce(err error) {
	if err != nil && in.opts.Log != nil {
		in.opts.Log(err)
	}
}

func (in *inbound) consumeOnce(ctx context.Context, h func(context.Context, bus.Msg) error) error {
	cons, err := in.openConsumer(ctx)
	if err != nil {
		return notOpened{err}
	}
	in.complainOnce(in.settleReceipts(ctx, math.MaxInt))
	msgs, err := cons.Messages(jetstream.PullMaxMessages(pullBatch), jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullHeartbeat))
	if err != nil {
		return streamError("read foreign requests", err)
	}
	defer msgs.Stop()
	defer context.AfterFunc(ctx, msgs.Stop)()
	unpurged := 0
	defer func() {
		if unpurged > 0 {
			in.complainOnce(in.purgeRead(ctx, cons))
		}
	}()
	for {
		m, err := msgs.Next()
		if err != nil {
			return streamError("read foreign requests", err)
		}
		if !in.handleMessage(ctx, m, h) {
			continue
		}
		unpurged++
		meta, err := m.Metadata()
		if unpurged >= purgeEvery || err != nil || meta.NumPending == 0 {
			unpurged = 0
			in.complainOnce(in.purgeRead(ctx, cons))
		}
	}
}

// handleMessage reports whether the message was acknowledged.
func (in *inbound) handleMessage(ctx context.Context, m jetstream.Msg, h func(context.Context, bus.Msg) error) bool {
	subject := strings.TrimPrefix(m.Subject(), storedPrefix)
	plain, member := splitMember(in.opts.Prefix, subject)
	err := h(ctx, bus.Msg{Subject: plain, Member: member, Data: m.Data(), Respond: func([]byte) error { return nil }})
	if err != nil {
		in.complainOnce(streamError("tell the stream to keep a request", m.NakWithDelay(nakDelay(m))))
		return false
	}
	// Acknowledge even if ctx has just ended: the work is done.
	ackCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTimeout)
	defer cancel()
	crash.Point("ingest ack.before")
	if err := m.DoubleAck(ackCtx); err != nil {
		in.complainOnce(streamError("acknowledge a foreign request, which will come again", err))
		return false
	}
	crash.Point("ingest ack.after")
	in.complainOnce(in.own.noteTaken(m.Headers().Get(receiptHeader), subject, m.Data()))
	return true
}

func nakDelay(m jetstream.Msg) time.Duration {
	d := firstNak
	meta, err := m.Metadata()
	if err != nil {
		return d
	}
	for n := meta.NumDelivered; n > 1 && d < longestNak; n-- {
		d *= 2
	}
	return min(d, longestNak)
}

// purgeRead removes acknowledged messages, so that only unread ones use space. It runs
// even after ctx has ended, and is left to the next time when the server does not answer.
func (in *inbound) purgeRead(ctx context.Context, cons jetstream.Consumer) error {
	if !in.js.Conn().IsConnected() {
		return nil
	}
	if err := in.own.flushReceipts(); err != nil {
		return err // the messages must stay while their receipts are open
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), purgeTimeout)
	defer cancel()
	info, err := cons.Info(ctx)
	if err == nil && info.AckFloor.Stream > 0 {
		err = in.openedStream().Purge(ctx, jetstream.WithPurgeSequence(info.AckFloor.Stream+1))
	}
	return streamError("purge what was read", err)
}

// Probe implements bus.Inbound: it stores one message in the stream that requests go to,
// and removes it. Error kinds: Limit when the stream answers but is full of unread
// requests, which no restart fixes; Storage when it does not store, which a restart may
// fix.
func (in *inbound) Probe(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	ack, err := in.js.Publish(ctx, in.canarySubject(), nil, jetstream.WithExpectStream(in.name), jetstream.WithRetryAttempts(0))
	var api *jetstream.APIError
	if errors.As(err, &api) && streamFull(api) {
		return fika.Errorf(fika.Limit, "probe stream", "%s is full: foreign requests are refused until its %d MiB are read", in.name, in.opts.MaxBytes>>20)
	}
	if err != nil {
		return streamError("probe stream "+in.name, err)
	}
	err = in.openedStream().Purge(ctx, jetstream.WithPurgeSubject(in.canarySubject()), jetstream.WithPurgeSequence(ack.Sequence+1))
	if err == nil {
		err = in.settleReceipts(ctx, settleAtOnce)
	}
	return streamError("probe stream "+in.name, err)
}

// streamFull reports whether e is the answer of a stream that has reached its own limits.
func streamFull(e *jetstream.APIError) bool {
	const storeFailed = 10077 // described as "maximum bytes exceeded" or "maximum messages exceeded"
	return e.ErrorCode == storeFailed && strings.Contains(e.Description, "maximum")
}
