package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/system/crash"
)

const (
	// storedPrefix is put before the subject of a request in the stream of our own
	// server: what is published there has gone through the intake. Only the hub's own
	// user may publish there.
	storedPrefix  = "_requests."
	receiptHeader = "Fika-Receipt"
	statusHeader  = "Status" // set in an answer that says that nobody listens
	intakeBatch   = 64       // receipts that are synced to disk together
	intakeWait    = time.Minute
	drainTime     = time.Second
)

// intake stands between the programs that publish requests and the stream: it stores a
// request in the stream, makes its receipt durable, and only then tells the sender that
// the request was accepted. Its connection is inside the process and is made before
// anybody else can reach the server.
type intake struct {
	nc        *nats.Conn
	requests  *nats.Subscription
	ofMembers *nats.Subscription
	answers   *nats.Subscription
	receipts  *receipts
	log       *slog.Logger
	prefix    string
	inbox     string // the stream's answers come to inbox.KEY
	run       string // prefix of the keys; that of a later run is greater

	mu       sync.Mutex
	last     uint64
	handed   map[string]handedOn // to the stream, by key
	accepted []acceptance        // by the stream, but with no durable receipt yet
}

// handedOn is a request that the stream has not answered yet.
type handedOn struct {
	receipt receipt
	reply   string // reply subject of the sender; empty if it wants no answer
}

// acceptance is the stream's answer for the sender.
type acceptance struct {
	handedOn
	answer []byte
}

// openIntake begins to take the requests of prefix from ns.
func openIntake(ns *server.Server, user, password, prefix string, r *receipts, log *slog.Logger) (*intake, error) {
	const op = "open intake"
	nc, err := nats.Connect("", nats.InProcessServer(ns), nats.UserInfo(user, password), nats.NoReconnect(), nats.Name("fika intake"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("intake", "err", err) }))
	if err != nil {
		return nil, fika.Wrap(fika.Failed, op, err)
	}
	in := &intake{
		nc: nc, receipts: r, log: log, prefix: prefix, inbox: nc.NewInbox(), handed: map[string]handedOn{},
		run: fmt.Sprintf("%016x", time.Now().UnixNano()),
	}
	if in.answers, err = nc.Subscribe(in.inbox+".*", in.onAnswer); err == nil {
		in.requests, err = nc.Subscribe(prefix+".agent.*.request", in.takeRequest)
	}
	if err == nil {
		in.ofMembers, err = nc.Subscribe(memberRequests(prefix), in.takeRequest)
	}
	if err == nil {
		err = errors.Join(in.answers.SetPendingLimits(-1, -1), in.requests.SetPendingLimits(pendingMsgs, pendingBytes),
			in.ofMembers.SetPendingLimits(pendingMsgs, pendingBytes), nc.Flush())
	}
	if err != nil {
		nc.Close()
		return nil, fika.Wrap(fika.Failed, op, err)
	}
	return in, nil
}

// takeRequest hands a request to the stream.
func (in *intake) takeRequest(m *nats.Msg) {
	now := time.Now().UTC()
	in.confineMember(m)
	in.mu.Lock()
	in.last++
	key := fmt.Sprintf("%s-%012d", in.run, in.last)
	in.forgetOld(now)
	in.handed[key] = handedOn{receipt: receipt{Key: key, Subject: m.Subject, ID: requestID(m.Data), At: now}, reply: m.Reply}
	in.mu.Unlock()
	out := nats.NewMsg(storedPrefix + m.Subject)
	out.Reply, out.Data = in.inbox+"."+key, m.Data
	for name, values := range m.Header {
		out.Header[name] = values
	}
	out.Header.Set(receiptHeader, key)
	if err := in.nc.PublishMsg(out); err != nil {
		in.mu.Lock()
		delete(in.handed, key)
		in.mu.Unlock()
		in.refuseSender(m.Reply, err)
	}
}

// confineMember removes from a member's message everything beside the request that could
// concern others: the member is answered only in its own inbox, and its message id is
// compared only with its own.
func (in *intake) confineMember(m *nats.Msg) {
	_, member := splitMember(in.prefix, m.Subject)
	if member == "" {
		return
	}
	if !strings.HasPrefix(m.Reply, inboxOf(MemberUser(member))+".") {
		m.Reply = ""
	}
	id := m.Header.Get(nats.MsgIdHdr)
	m.Header = nats.Header{}
	if id != "" {
		m.Header.Set(nats.MsgIdHdr, member+" "+id)
	}
}

// forgetOld drops requests that the stream has not answered for intakeWait: the sender
// has given up. The caller holds mu.
func (in *intake) forgetOld(now time.Time) {
	if in.last%intakeBatch != 0 {
		return
	}
	for key, h := range in.handed {
		if now.Sub(h.receipt.At) > intakeWait {
			delete(in.handed, key)
		}
	}
}

// onAnswer takes the stream's answer to a request. An acceptance is passed on once its
// receipt is durable; acceptances in quick succession are committed together.
func (in *intake) onAnswer(m *nats.Msg) {
	key := strings.TrimPrefix(m.Subject, in.inbox+".")
	var ack struct {
		Seq       uint64          `json:"seq"`
		Duplicate bool            `json:"duplicate"`
		Error     json.RawMessage `json:"error"`
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	h, known := in.handed[key]
	delete(in.handed, key)
	switch {
	case !known:
	case m.Header.Get(statusHeader) != "":
		in.refuseSender(h.reply, errors.New("there is no stream to keep requests in"))
	case json.Unmarshal(m.Data, &ack) != nil || ack.Error != nil || ack.Duplicate:
		in.replyTo(h.reply, m.Data)
	default:
		h.receipt.Seq = ack.Seq
		in.accepted = append(in.accepted, acceptance{h, m.Data})
	}
	left, _, err := in.answers.Pending() // includes the current message
	if err != nil || left <= 1 || len(in.accepted) >= intakeBatch {
		in.commitReceipts()
	}
}

// commitReceipts makes the receipts of the accepted requests durable and tells their
// senders. The caller holds mu.
func (in *intake) commitReceipts() {
	if len(in.accepted) == 0 {
		return
	}
	list := make([]receipt, len(in.accepted))
	for i, a := range in.accepted {
		list[i] = a.receipt
	}
	crash.Point("accept receipt.before")
	err := in.receipts.addDurably(list)
	crash.Point("accept receipt.after")
	for _, a := range in.accepted {
		if err == nil {
			in.replyTo(a.reply, a.answer)
		} else {
			in.refuseSender(a.reply, err)
		}
	}
	if err != nil {
		in.log.Error("a request of another program was not accepted", "err", err)
	}
	in.accepted = nil
}

func (in *intake) replyTo(to string, data []byte) {
	if to == "" {
		return
	}
	if err := in.nc.Publish(to, data); err != nil {
		in.log.Warn("answer to a sender", "err", err)
	}
}

// refuseSender tells a sender, in the format of a stream's answer, that its request was
// not accepted.
func (in *intake) refuseSender(to string, why error) {
	data, err := json.Marshal(map[string]any{"error": map[string]any{"code": 503, "description": why.Error()}})
	if err == nil {
		in.replyTo(to, data)
	}
}

// closeIntake stops taking requests, waits briefly for the answers to those it took, and
// closes the connection.
func (in *intake) closeIntake(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	_ = in.requests.Drain()
	_ = in.ofMembers.Drain()
	for in.hasWaiting() && ctx.Err() == nil && in.nc.FlushWithContext(ctx) == nil {
	}
	in.nc.Close()
}

func (in *intake) hasWaiting() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.requests.IsValid() || in.ofMembers.IsValid() || len(in.handed)+len(in.accepted) > 0
}

// requestID returns the requestId of a body; empty if it has none or one that is too
// long.
func requestID(body []byte) string {
	var r struct {
		ID string `json:"requestId"`
	}
	_ = json.Unmarshal(body, &r)
	if len(r.ID) > maxRequestID {
		return ""
	}
	return r.ID
}

const maxRequestID = 128
