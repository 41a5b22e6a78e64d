package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fika"
)

// EntryQuery selects entries of one conversation, oldest first.
type EntryQuery struct {
	Conversation fika.ConversationID
	Since        int64            // seq > Since
	Upto         int64            // seq <= Upto; 0: no bound
	Types        []fika.EntryType // empty: all
	Last         int              // only the last N that match; 0: no bound
	First        int              // only the first N that match; 0: no bound
}

const (
	selectEntry = `SELECT ` + entryColumns + ` FROM entries e`
	// notExpired takes the present time as its argument. A message that a running
	// turn is about to answer stays until the turn has ended.
	notExpired = ` AND (e.expires_at = 0 OR e.expires_at > ? OR e.pinned = 1 OR EXISTS (SELECT 1 FROM notifications x
  WHERE x.conversation = e.conversation AND x.seq = e.seq AND x.state = 'claimed'))`
)

// append stores e with the next seq of its conversation, and sets e's seq and, if
// missing, its id and time.
func (t *tx) append(ctx context.Context, e *fika.Entry) error {
	if e.ID == "" {
		e.ID = fika.EntryID(t.newID())
	}
	if e.At.IsZero() {
		e.At = at(t.now)
	}
	meta, err := metaJSON(e.Meta)
	if err != nil {
		return err
	}
	if e.Seq, err = t.nextSeq(ctx, e.Conversation, e.Type == fika.Message); err != nil {
		return err
	}
	st := statement{text: `INSERT INTO entries (conversation, seq, id, at, sender, recipient, content, type,
request, reply_to, chain, depth, pinned, expires_at, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, args: []any{
		e.Conversation, e.Seq, e.ID, ms(e.At), e.From, e.To, e.Content, e.Type,
		e.Request, e.ReplyTo, e.Chain, e.Depth, number(e.Pinned), ms(e.ExpiresAt), meta,
	}}
	if t.c.distant() && e.Type == fika.Message {
		st.text = `INSERT INTO entries (conversation, seq, id, at, sender, recipient, content, type,
request, reply_to, chain, depth, pinned, expires_at, metadata, words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
		st.args = append(st.args, wordsOf(e.Content))
	}
	t.tell(event{kind: EntryEvent, conversation: e.Conversation, request: e.Request, chain: e.Chain, agent: t.workers[e.Request],
		seq: e.Seq, state: string(e.Type), data: EventData{ID: e.ID, Final: e.Meta.Final}})
	return t.add(ctx, st)
}

// nextSeq returns the next seq of a conversation and locks its row, so that the order
// of seqs is that of commits.
func (t *tx) nextSeq(ctx context.Context, c fika.ConversationID, message bool) (int64, error) {
	n := number(message)
	if last, locked := t.lastSeq[c]; locked {
		t.lastSeq[c] = last + 1
		return last + 1, t.put(ctx, `UPDATE conversations SET last_seq = last_seq + 1, messages = messages + ?, updated_at = ? WHERE id = ?`, n, t.now, c)
	}
	seq, ok, err := one(ctx, t, scanInt, `UPDATE conversations SET last_seq = last_seq + 1, messages = messages + ?, updated_at = ?
WHERE id = ? RETURNING last_seq`, n, t.now, c)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, "append entry", "no conversation with id %q", c)
	}
	if err == nil {
		t.lastSeq[c] = seq
	}
	return seq, err
}

// number converts a bool to the form in which it is stored.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// lock locks and reads a conversation. It fails with NotFound.
func (t conversationRows) lock(ctx context.Context, id fika.ConversationID) (fika.Conversation, error) {
	var c fika.Conversation
	found := false
	err := t.run(ctx, t.locking(&c, &found, id))
	if err == nil && !found {
		err = noConversation(id)
	}
	return c, err
}

func noConversation(id fika.ConversationID) error {
	return fika.Errorf(fika.NotFound, "conversation", "no conversation with id %q", id)
}

// locking returns the statement that locks and reads a conversation.
func (t conversationRows) locking(c *fika.Conversation, found *bool, id fika.ConversationID) statement {
	return first(c, found, t.locked, selectConversation+` WHERE c.id = ?`+lockConversation, id)
}

// locked scans a conversation that the statement locks.
func (t conversationRows) locked(s scanner) (fika.Conversation, error) {
	c, err := scanConversation(s)
	if err == nil {
		t.lastSeq[c.ID] = c.LastSeq
	}
	return c, err
}

func metaJSON(m fika.EntryMeta) (string, error) {
	raw, err := json.Marshal(m)
	if err != nil || string(raw) == "{}" {
		return "", err
	}
	return string(raw), nil
}

// selected returns the conditions of a query and their arguments.
func (q EntryQuery) selected(now int64) (where string, args []any) {
	var b strings.Builder
	b.WriteString(` WHERE e.conversation = ? AND e.seq > ?`)
	args = []any{q.Conversation, q.Since}
	if q.Upto > 0 {
		b.WriteString(` AND e.seq <= ?`)
		args = append(args, q.Upto)
	}
	b.WriteString(notExpired)
	args = append(args, now)
	if len(q.Types) == 1 && q.Types[0] == fika.Compaction {
		b.WriteString(` AND e.type = 'compaction'`) // spelled out so that its index is used
	} else if len(q.Types) > 0 {
		b.WriteString(` AND e.type IN (` + placeholders(len(q.Types)) + `)`)
		for _, typ := range q.Types {
			args = append(args, typ)
		}
	}
	return b.String(), args
}

// Entries reads the entries that the query selects, expired ones left out. All of them
// are in memory at once: use [Transcripts.EachEntry] for a query without a small bound.
func (s Transcripts) Entries(ctx context.Context, q EntryQuery) ([]fika.Entry, error) {
	where, args := q.selected(s.nowMS())
	text, limit := selectEntry+where+` ORDER BY e.seq LIMIT ?`, noLimit(q.First)
	if q.Last > 0 {
		text, limit = selectEntry+where+` ORDER BY e.seq DESC LIMIT ?`, int64(q.Last)
	}
	all, err := many(ctx, s.r, scanEntry, text, append(args, limit)...)
	if err != nil {
		return nil, s.explain("read entries", err)
	}
	if q.Last > 0 {
		slices.Reverse(all)
		if q.First > 0 && len(all) > q.First {
			all = all[:q.First]
		}
	}
	return all, nil
}

// EntryByID returns one entry of a conversation. It fails with NotFound.
func (s Transcripts) EntryByID(ctx context.Context, c fika.ConversationID, id fika.EntryID) (fika.Entry, error) {
	const op = "read entry"
	e, ok, err := one(ctx, s.r, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.id = ?`, c, id)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "no entry %q in this conversation", id)
	}
	return e, s.explain(op, err)
}

// Before reads up to limit entries with seq <= upto, newest first: the pages from
// which a turn builds its window. It includes compactions.
func (s Transcripts) Before(ctx context.Context, c fika.ConversationID, upto int64, limit int) ([]fika.Entry, error) {
	all, err := many(ctx, s.r, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.seq <= ?`+notExpired+
		` ORDER BY e.seq DESC LIMIT ?`, c, upto, s.nowMS(), noLimit(limit))
	return all, s.explain("read entries", err)
}

// EntrySize is how much an entry holds.
type EntrySize struct {
	Seq         int64
	Type        fika.EntryType
	Request     fika.RequestID
	From        int // the bytes of the sender
	Content     int // the bytes of the content
	Attachments []fika.Attachment
}

// Sizes is [Transcripts.Before] for counting: it reads no texts.
func (s Transcripts) Sizes(ctx context.Context, c fika.ConversationID, upto int64, limit int) ([]EntrySize, error) {
	all, err := many(ctx, s.r, scanSize, `SELECT e.seq, e.type, e.request, octet_length(e.content), octet_length(e.sender),
CASE WHEN e.metadata LIKE '%"attachments"%' THEN e.metadata ELSE '' END FROM entries e WHERE e.conversation = ? AND e.seq <= ?`+notExpired+
		` ORDER BY e.seq DESC LIMIT ?`, c, upto, s.nowMS(), noLimit(limit))
	return all, s.explain("read entries", err)
}

// OfRequest reads the entries that a request wrote, in order.
func (s Transcripts) OfRequest(ctx context.Context, id fika.RequestID) ([]fika.Entry, error) {
	if id == "" {
		return nil, nil
	}
	all, err := many(ctx, s.r, scanEntry, selectEntry+` WHERE e.request = ? AND e.request <> '' ORDER BY e.seq`, id)
	return all, s.explain("read entries", err)
}

// LastCompaction returns the compaction of the [Frame].
func (s Transcripts) LastCompaction(ctx context.Context, c fika.ConversationID, view fika.AgentID, upto int64) (*fika.Entry, error) {
	f, err := s.Frame(ctx, c, view, upto)
	return f.Compaction, err
}

// AppendCompaction appends a compaction for which no model was asked (clear, undo),
// outside a turn, and returns it.
func (s Transcripts) AppendCompaction(ctx context.Context, c fika.ConversationID, from, content string, m fika.EntryMeta) (fika.Entry, error) {
	e := fika.Entry{Conversation: c, From: from, To: from, Content: content, Type: fika.Compaction, Meta: m}
	var stored fika.Entry
	err := s.write(ctx, "append compaction", func(ctx context.Context, t *tx) error {
		stored = e
		if err := conversationsIn(t).forgetGuests(ctx, c); err != nil {
			return err
		}
		return t.append(ctx, &stored)
	})
	return stored, err
}

// Pin keeps a message or notice beyond its time to live, or ends that, and returns
// the entry. It fails with NotFound, and with Invalid for other entries, which stay
// and go with their turn.
func (s Transcripts) Pin(ctx context.Context, c fika.ConversationID, seq int64, pinned bool) (fika.Entry, error) {
	const op = "pin entry"
	var out fika.Entry
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		e, ok, err := one(ctx, t, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.seq = ?`+notExpired, c, seq, t.now)
		switch {
		case err != nil:
			return err
		case !ok:
			return fika.Errorf(fika.NotFound, op, "no entry %d in this conversation", seq)
		case e.Type != fika.Message && e.Type != fika.Notice:
			return fika.Errorf(fika.Invalid, op, "entry %d is a %s: it stays and goes with its turn; pin a message", seq, e.Type)
		}
		e.Pinned = pinned
		out = e
		return t.put(ctx, `UPDATE entries SET pinned = ? WHERE conversation = ? AND seq = ?`, number(pinned), c, seq)
	})
	return out, err
}
