package store

import (
	"context"
	"math"
	"slices"

	"fika"
)

// pageEntries is how many entries [Transcripts.EachEntry] holds in memory at once.
const pageEntries = 200

// EachEntry calls do for the entries that the query selects, oldest first, reading a page at
// a time. What is appended meanwhile may be among them.
func (s Transcripts) EachEntry(ctx context.Context, q EntryQuery, do func(fika.Entry) error) error {
	if q.Last > 0 {
		since, n, err := s.NewestFrom(ctx, q)
		if err != nil || n == 0 {
			return err
		}
		if q.First == 0 || q.First > n {
			q.First = n // entries appended since would be beyond the last n
		}
		q.Since, q.Last = since, 0
	}
	for left := q.First; ; {
		if q.First = pageEntries; left > 0 {
			q.First = min(left, pageEntries)
		}
		page, err := s.Entries(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := do(e); err != nil {
				return err
			}
			q.Since = e.Seq
		}
		if left -= len(page); left == 0 || len(page) < q.First {
			return nil
		}
	}
}

// NewestFrom returns the seq after which the newest q.Last entries that the query
// selects lie, and how many they are: fewer than q.Last if there are no more.
func (s Transcripts) NewestFrom(ctx context.Context, q EntryQuery) (since int64, n int, err error) {
	where, args := q.selected(s.nowMS())
	found, _, err := one(ctx, s.r, func(sc scanner) (v [2]int64, err error) { err = sc.Scan(&v[0], &v[1]); return v, err },
		`SELECT COALESCE(min(l.seq), 1) - 1, count(*) FROM (SELECT e.seq FROM entries e`+where+` ORDER BY e.seq DESC LIMIT ?) l`, append(args, noLimit(q.Last))...)
	return found[0], int(found[1]), s.explain("read entries", err)
}

// Extent is how much a part of a conversation holds.
type Extent struct{ Entries, Messages, Compactions int }

// Extent counts the entries with since < seq <= upto, expired ones included. It reads
// no entries, except to count the messages of a part of a conversation.
func (s Transcripts) Extent(ctx context.Context, c fika.ConversationID, since, upto int64) (x Extent, err error) {
	const in = ` FROM entries e WHERE e.conversation = ? AND e.seq > ? AND e.seq <= ?`
	var entries, compactions, messages int64
	whole := false
	err = s.r.run(ctx,
		first(&entries, nil, scanInt, `SELECT count(*)`+in, c, since, upto),
		first(&compactions, nil, scanInt, `SELECT count(*)`+in+` AND e.type = 'compaction'`, c, since, upto),
		first(&messages, &whole, scanInt, `SELECT c.messages FROM conversations c WHERE c.id = ? AND c.last_seq <= ? AND ? <= 0`, c, upto, since))
	if err == nil && !whole {
		messages, _, err = one(ctx, s.r, scanInt, `SELECT count(*)`+in+` AND e.type = 'message'`, c, since, upto)
	}
	return Extent{Entries: int(entries), Messages: int(messages), Compactions: int(compactions)}, s.explain("count entries", err)
}

// Span are the seqs with Since < seq <= Upto.
type Span struct{ Since, Upto int64 }

// WindowSpans returns where in a conversation the entries of an agent's window are: what
// the last compaction kept, and what came after it, without what rewinds have taken out. cut is that compaction; nil: there is
// none. An empty view is that of people.
func (s Transcripts) WindowSpans(ctx context.Context, c fika.ConversationID, view fika.AgentID) (spans []Span, cut *fika.Entry, err error) {
	f, err := s.Frame(ctx, c, view, math.MaxInt64)
	if err != nil {
		return nil, nil, err
	}
	spans = []Span{{0, math.MaxInt64}}
	if cut = f.Compaction; cut != nil {
		spans = append(joinRuns(cut.Meta.Kept), Span{cut.Meta.UpTo, math.MaxInt64})
	}
	for _, x := range f.Cuts {
		spans = without(spans, x)
	}
	return spans, cut, nil
}

// without returns what is left of spans without a part.
func without(spans []Span, part fika.Cut) (out []Span) {
	for _, s := range spans {
		if part.To <= s.Since || part.From > s.Upto {
			out = append(out, s)
			continue
		}
		if part.From-1 > s.Since {
			out = append(out, Span{s.Since, part.From - 1})
		}
		if part.To < s.Upto {
			out = append(out, Span{part.To, s.Upto})
		}
	}
	return out
}

// joinRuns joins seqs into spans.
func joinRuns(seqs []int64) (out []Span) {
	seqs = slices.Sorted(slices.Values(seqs))
	for _, seq := range seqs {
		if n := len(out); n > 0 && seq <= out[n-1].Upto+1 {
			out[n-1].Upto = seq
			continue
		}
		out = append(out, Span{seq - 1, seq})
	}
	return out
}
