package turn

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"

	"fika"
	"fika/internal/store"
)

const (
	// tailRead is how many of the newest entries are read when looking for new ones. A
	// chain of mentions adds two or three.
	tailRead = 8
	// tailBytes bounds what is remembered of all conversations together.
	tailBytes = 1 << 20
	// entryBytes is roughly what an entry takes besides its text.
	entryBytes = 512
	// recordBytes bounds what is remembered of the records of model calls.
	recordBytes = 1 << 20
	// recordRoom is roughly what a record takes besides its text.
	recordRoom = 256
)

// Tail is a [History] that remembers the newest entries of the conversations its process
// works in, so that a turn reads only what came since the last one: stored entries never
// change. Entries with a time to live do disappear; a conversation that has any is not
// remembered. Tail also remembers the records of model calls.
//
// Tail is safe for concurrent use. What it returns is shared and must not be changed.
type Tail struct {
	History
	mu    sync.Mutex
	tails map[fika.ConversationID]*tail
	bytes int
	clock int // counts uses

	records map[fika.EntryID]record // a zero record for an entry without one
	kept    int                     // bytes of all records
}

// tail is every entry of a conversation from the first remembered one to the last.
type tail struct {
	entries []fika.Entry // oldest first
	whole   bool         // the first one is the conversation's first
	bytes   int
	used    int
}

// NewTail returns a Tail that remembers what h reads.
func NewTail(h History) *Tail {
	return &Tail{History: h, tails: map[fika.ConversationID]*tail{}, records: map[fika.EntryID]record{}}
}

// readRecords implements [recordKeeper]. A record is stored together with its
// entry, and never changed.
func (t *Tail) readRecords(ctx context.Context, entries []*fika.Entry, into map[fika.EntryID]record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var unknown []*fika.Entry
	for _, e := range entries {
		r, known := t.records[e.ID]
		switch {
		case !known:
			unknown = append(unknown, e)
		case !r.isZero():
			into[e.ID] = r
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	found, err := t.History.Blobs(ctx, valuesOf(unknown))
	if err != nil {
		return err
	}
	for _, e := range unknown {
		if r := t.keepRecord(e.ID, found[e.ID]); !r.isZero() {
			into[e.ID] = r
		}
	}
	return nil
}

// WithTail returns s with its history read through a [Tail].
func WithTail(s Store) Store {
	t := NewTail(s.History)
	s.History, s.Outcomes = t, tailOutcomes{s.Outcomes, t}
	return s
}

// tailOutcomes gives a tail the record of each final answer.
type tailOutcomes struct {
	Outcomes
	tail *Tail
}

// Finish ends the request as the store does, and remembers the record of its answer.
func (o tailOutcomes) Finish(ctx context.Context, f store.Fence, fin store.Finish) (store.Finished, error) {
	out, err := o.Outcomes.Finish(ctx, f, fin)
	if err == nil && fin.Final != nil && fin.Final.Text != "" && len(out.Entries) > 0 {
		o.tail.mu.Lock()
		defer o.tail.mu.Unlock()
		o.tail.keepRecord(out.Entries[0].ID, fin.Final.Blob)
	}
	return out, err
}

// keepRecord remembers the record of an entry; mu is held.
func (t *Tail) keepRecord(id fika.EntryID, blob json.RawMessage) record {
	if t.kept > recordBytes {
		clear(t.records) // read again by whoever needs them
		t.kept = 0
	}
	r := readRecord(blob)
	t.records[id] = r
	t.kept += recordRoom + len(blob)
	return r
}

// Before returns what the store's Before returns.
func (t *Tail) Before(ctx context.Context, c fika.ConversationID, upto int64, limit int) ([]fika.Entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.tails[c]
	if known == nil || known.lastSeq() < upto {
		if err := t.followNewest(ctx, c, upto); err != nil {
			return nil, err
		}
		if known = t.tails[c]; known == nil || known.lastSeq() < upto {
			return t.History.Before(ctx, c, upto, limit) // not remembered, or being written
		}
	}
	t.clock++
	known.used = t.clock
	out := known.newestUpTo(upto, limit)
	if len(out) >= limit || known.whole {
		return out, nil
	}
	older := known.entries[0].Seq - 1
	more, err := t.History.Before(ctx, c, min(upto, older), limit-len(out))
	if err != nil {
		return nil, err
	}
	if upto >= older {
		t.prependOlder(c, known, more, len(more) < limit-len(out))
	}
	return append(out, more...), nil
}

// lastSeq returns the seq of the newest entry.
func (k *tail) lastSeq() int64 { return k.entries[len(k.entries)-1].Seq }

// newestUpTo returns at most limit entries up to upto, newest first.
func (k *tail) newestUpTo(upto int64, limit int) []fika.Entry {
	end, found := slices.BinarySearchFunc(k.entries, upto, func(e fika.Entry, seq int64) int { return int(e.Seq - seq) })
	if found {
		end++
	}
	out := slices.Clone(k.entries[max(0, end-limit):end])
	slices.Reverse(out)
	return out
}

// followNewest reads what came since the last look: up to upto if that is near, else the
// newest entries there are. A conversation that cannot be remembered is forgotten.
func (t *Tail) followNewest(ctx context.Context, c fika.ConversationID, upto int64) error {
	size := int64(tailRead)
	if known := t.tails[c]; known != nil && upto-known.lastSeq() < size {
		size = upto - known.lastSeq()
	} else {
		upto = math.MaxInt64
	}
	page, err := t.History.Before(ctx, c, upto, int(size))
	if err != nil {
		return err
	}
	if len(page) == 0 || hasExpiring(page) {
		t.forgetTail(c)
		return nil
	}
	slices.Reverse(page)
	known := t.tails[c]
	if known == nil || page[0].Seq > known.lastSeq()+1 && len(page) == tailRead { // there may be more between
		t.forgetTail(c)
		known = &tail{}
		t.tails[c] = known
	}
	known.whole = known.whole || int64(len(page)) < size
	for _, e := range page {
		if len(known.entries) == 0 || e.Seq > known.lastSeq() {
			known.entries = append(known.entries, e)
			t.countBytes(known, e)
		}
	}
	t.shrinkToBound(c)
	return nil
}

// prependOlder remembers older entries, given newest first.
func (t *Tail) prependOlder(c fika.ConversationID, known *tail, older []fika.Entry, whole bool) {
	if hasExpiring(older) {
		t.forgetTail(c)
		return
	}
	first := slices.Clone(older)
	slices.Reverse(first)
	known.entries, known.whole = append(first, known.entries...), whole
	for _, e := range older {
		t.countBytes(known, e)
	}
	t.shrinkToBound(c)
}

func (t *Tail) countBytes(k *tail, e fika.Entry) {
	n := entryBytes + len(e.Content) + len(e.Meta.Reasoning)
	k.bytes += n
	t.bytes += n
}

// shrinkToBound keeps memory within tailBytes: it forgets the conversations unused the
// longest, and halves the last one, c, from its oldest end.
func (t *Tail) shrinkToBound(c fika.ConversationID) {
	for t.bytes > tailBytes {
		oldest := c
		for id, k := range t.tails {
			if id != c && (oldest == c || k.used < t.tails[oldest].used) {
				oldest = id
			}
		}
		k := t.tails[oldest]
		if oldest != c || len(k.entries) < 2 {
			t.forgetTail(oldest)
			continue
		}
		t.bytes -= k.bytes
		k.entries, k.whole, k.bytes = slices.Clone(k.entries[len(k.entries)/2:]), false, 0
		for _, e := range k.entries {
			t.countBytes(k, e)
		}
	}
}

func (t *Tail) forgetTail(c fika.ConversationID) {
	if k := t.tails[c]; k != nil {
		t.bytes -= k.bytes
		delete(t.tails, c)
	}
}

// hasExpiring reports whether any of the entries has a time to live.
func hasExpiring(entries []fika.Entry) bool {
	return slices.ContainsFunc(entries, func(e fika.Entry) bool { return !e.ExpiresAt.IsZero() })
}
