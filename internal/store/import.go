package store

import (
	"context"
	"sort"

	"fika"
)

// importBatch is how many entries one transaction imports, so that others can write
// during a large import. An interrupted import is simply repeated: entries that are
// there already are skipped.
const importBatch = 1000

// Import appends foreign entries that the conversation does not have yet (by id),
// keeping their order, ids and times, and returns how many were new.
func (s Transcripts) Import(ctx context.Context, c fika.ConversationID, entries []fika.Entry) (int, error) {
	return s.NewImport(c).Add(ctx, entries)
}

// Import brings foreign entries into a conversation, piece by piece, in their order.
// It remembers the seqs that they have here and nothing else about them. It is not
// safe for concurrent use.
type Import struct {
	s    Transcripts
	c    fika.ConversationID
	seqs seqMap
}

// NewImport begins an import. It needs no closing.
func (s Transcripts) NewImport(c fika.ConversationID) *Import { return &Import{s: s, c: c} }

// Add appends the entries that the conversation does not have yet (by id), keeping
// their order, ids and times, and returns how many were new. It fails with Invalid,
// before anything is stored, if an entry's type is unknown.
func (im *Import) Add(ctx context.Context, entries []fika.Entry) (int, error) {
	const op = "import entries"
	s, c := im.s, im.c
	for i, e := range entries {
		switch e.Type {
		case fika.Message, fika.ToolCall, fika.ToolResult, fika.Compaction, fika.Notice, fika.Rewind:
		default:
			return 0, fika.Errorf(fika.Invalid, op, "entry %d (id %q) has the unknown type %q", i+1, e.ID, e.Type)
		}
	}
	total := 0
	for len(entries) > 0 {
		batch := entries[:min(importBatch, len(entries))]
		entries = entries[len(batch):]
		var added int
		err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
			added = 0
			if _, err := conversationsIn(t).lock(ctx, c); err != nil {
				return err
			}
			for _, e := range batch {
				fresh, err := t.importEntry(ctx, c, e, &im.seqs)
				if err != nil {
					return err
				}
				if fresh {
					added++
				}
			}
			t.discard = added == 0
			return nil
		})
		if err != nil {
			return total, err
		}
		total += added
	}
	return total, nil
}

// importEntry appends an entry if its id is new, translating the seqs in its metadata
// to those that the entries have here.
func (t *tx) importEntry(ctx context.Context, c fika.ConversationID, e fika.Entry, seqs *seqMap) (fresh bool, err error) {
	theirs := e.Seq
	if e.ID != "" {
		seq, known, err := one(ctx, t, scanInt, `SELECT seq FROM entries WHERE conversation = ? AND id = ?`, c, e.ID)
		if err != nil {
			return false, err
		}
		if known {
			seqs.add(theirs, seq)
			return false, nil
		}
	}
	e.Conversation = c
	if ours, exact := seqs.upto(e.Meta.Taint.Seq); exact {
		e.Meta.Taint.Seq = ours
	} else {
		e.Meta.Taint.Seq = 0 // its source was not imported, so it counts as its own
	}
	if e.Type == fika.Compaction {
		e.Meta = seqs.translate(e.Meta)
	}
	if err := t.append(ctx, &e); err != nil {
		return false, err
	}
	seqs.add(theirs, e.Seq)
	return true, nil
}

// seqMap maps the seqs of imported entries to those that they have here. Foreign
// entries come in the order of their seqs; those without a seq are not remembered.
type seqMap struct{ runs []seqRun }

// seqRun is a run of n entries that are consecutive there and here.
type seqRun struct{ theirs, ours, n int64 }

func (m *seqMap) add(theirs, ours int64) {
	if theirs <= 0 {
		return
	}
	if len(m.runs) > 0 {
		r := &m.runs[len(m.runs)-1]
		switch {
		case theirs < r.theirs+r.n:
			return
		case theirs == r.theirs+r.n && ours == r.ours+r.n:
			r.n++
			return
		}
	}
	m.runs = append(m.runs, seqRun{theirs, ours, 1})
}

// upto returns our seq of the last entry at or before theirs, 0 if there is none, and
// whether that entry is theirs exactly.
func (m *seqMap) upto(theirs int64) (ours int64, exact bool) {
	i := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].theirs > theirs }) - 1
	if i < 0 {
		return 0, false
	}
	r := m.runs[i]
	last := min(theirs-r.theirs, r.n-1)
	return r.ours + last, r.theirs+last == theirs
}

func (m *seqMap) translate(meta fika.EntryMeta) fika.EntryMeta {
	if meta.UpTo > 0 {
		meta.UpTo, _ = m.upto(meta.UpTo)
	}
	if meta.Undo > 0 {
		meta.Undo, _ = m.upto(meta.Undo)
	}
	var kept []int64
	for _, k := range meta.Kept {
		if ours, exact := m.upto(k); exact {
			kept = append(kept, ours)
		}
	}
	meta.Kept = kept
	return meta
}
