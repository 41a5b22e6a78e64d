package nats

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fika"
	"fika/internal/bus"
)

// ownStream is what only the stream of our own server has: receipts of accepted requests.
// The methods of a nil *ownStream do nothing.
type ownStream struct {
	receipts *receipts
	runDir   string

	mu   sync.Mutex           // held during a comparison with the stream
	next int                  // index of the next receipt to check
	told map[string]time.Time // when a sender was first told, by key
	wait time.Duration        // until it is told again; longer than a client usually takes to reconnect
}

// settleAtOnce is how many receipts a probe checks: a store that takes no writes may have
// many.
const settleAtOnce = 100

// hasUnread reports whether some request was accepted and has not been read.
func (o *ownStream) hasUnread() bool { return o != nil && len(o.receipts.pendingReceipts()) > 0 }

func (o *ownStream) flushReceipts() error {
	if o == nil {
		return nil
	}
	return o.receipts.flushRead()
}

// noteTaken notes that a request is a row now. If the request was noted as lost, it has
// been sent again and is removed from that list.
func (o *ownStream) noteTaken(key, subject string, body []byte) error {
	if o == nil {
		return nil
	}
	o.receipts.noteRead(key)
	return noteFound(o.runDir, agentOf(subject), requestID(body))
}

// settleReceipts compares up to n receipts with the stream. A request that was accepted
// and is no longer in the stream is lost: the handler of Consume is told, which tells the
// sender, and the request is noted as lost until a person acknowledges it. If that fails,
// it is tried again at the next comparison.
func (in *inbound) settleReceipts(ctx context.Context, n int) error {
	tell := in.handler.Load()
	if in.own == nil || tell == nil {
		return nil
	}
	in.own.mu.Lock()
	defer in.own.mu.Unlock()
	for range in.own.receipts.takeUnreadable() {
		if err := noteLost(in.own.runDir, LostRequest{Key: "unreadable " + time.Now().UTC().Format(time.RFC3339Nano), Found: time.Now().UTC()}); err != nil {
			return err
		}
	}
	for _, r := range in.own.nextBatch(n) {
		gone, err := in.isGone(ctx, r)
		if err != nil {
			return err
		}
		if !gone {
			continue
		}
		if err := in.tellLost(ctx, r, *tell); err != nil {
			return err
		}
	}
	return nil
}

// nextBatch returns the next n pending receipts, in rotation. The caller holds mu.
func (o *ownStream) nextBatch(n int) []receipt {
	list := o.receipts.pendingReceipts()
	if len(list) <= n {
		return list
	}
	if o.next >= len(list) {
		o.next = 0
	}
	list = list[o.next:min(o.next+n, len(list))]
	o.next += n
	return list
}

// isGone reports whether the request of a receipt is no longer in the stream although
// nobody has read it.
func (in *inbound) isGone(ctx context.Context, r receipt) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	m, err := in.openedStream().GetMsg(ctx, r.Seq)
	switch {
	case err == nil && m.Header.Get(receiptHeader) == r.Key:
		return false, nil
	case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
		return false, streamError("look for an accepted request", err)
	}
	return in.own.receipts.isPending(r.Key), nil // it may have been read meanwhile
}

// tellLost reports a lost request to the handler, at once and again a little later: a
// sender whose connection ended with the hub needs a moment to come back. A request that
// the handler knows was not lost, only the note that it was read.
func (in *inbound) tellLost(ctx context.Context, r receipt, tell handler) error {
	own, now := in.own, time.Now().UTC()
	first, again := own.told[r.Key]
	if again && (now.Sub(first) < own.wait || own.sentAgain(r)) {
		return nil
	}
	subject, _ := splitMember(in.opts.Prefix, r.Subject)
	err := tell(ctx, bus.Msg{Subject: subject, Respond: func([]byte) error { return nil }, Lost: &bus.Lost{ID: r.ID, Accepted: r.At}})
	known := fika.IsKind(err, fika.Conflict)
	if err != nil && !known {
		return err
	}
	if !known && !again {
		own.told[r.Key] = now
		return noteLost(own.runDir, LostRequest{Key: r.Key, Agent: agentOf(r.Subject), ID: r.ID, Accepted: r.At, Found: now})
	}
	delete(own.told, r.Key)
	own.receipts.noteRead(r.Key)
	return own.receipts.flushRead()
}

// sentAgain reports whether a lost request has been accepted a second time, and so will
// be answered through the second one. The caller holds mu.
func (o *ownStream) sentAgain(lost receipt) bool {
	return lost.ID != "" && slices.ContainsFunc(o.receipts.pendingReceipts(), func(r receipt) bool {
		return r.Key > lost.Key && r.ID == lost.ID && r.Subject == lost.Subject
	})
}

// agentOf returns the agent of a subject that ends in agent.NAME.request.
func agentOf(subject string) fika.AgentName {
	words := strings.Split(subject, ".")
	return fika.AgentName(words[max(0, len(words)-2)])
}
