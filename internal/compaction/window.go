package compaction

import (
	"context"
	"math"
	"slices"

	"fika"
	"fika/internal/store"
)

// said lists the types of entry that a model sees.
var said = []fika.EntryType{fika.Message, fika.ToolCall, fika.ToolResult}

// History holds what is in the window of a conversation.
type History struct {
	Units []Unit
	// UpTo is that of the last compaction: entries that it archived stay archived.
	UpTo int64
	// Taint names the text from outside that its summary contains; empty: none.
	Taint string
}

// taintOf names the text from outside that a summary of the archived units will contain,
// together with the summary before; empty: none.
func (h History) taintOf(archived []Unit) string {
	for _, u := range archived {
		for _, e := range u.Entries {
			if e.Meta.Taint.Tainted() && h.Taint == "" {
				h.Taint = e.Meta.Taint.From
			}
		}
	}
	return h.Taint
}

// readWindow returns the entries in the window of the conversation's agent, oldest
// first: those after the last compaction, and those that it kept.
func readWindow(ctx context.Context, s Store, conv fika.ConversationID, upto int64) (out []fika.Entry, floor int64, taint string, err error) {
	cut, err := s.LastCompaction(ctx, conv, math.MaxInt64)
	if err != nil {
		return nil, 0, "", err
	}
	q := store.EntryQuery{Conversation: conv, Upto: upto, Types: said}
	if cut != nil {
		q.Since, taint = cut.Meta.UpTo, cut.Meta.Taint.From
		for _, r := range joinRuns(cut.Meta.Kept) {
			kept, err := s.Entries(ctx, store.EntryQuery{Conversation: conv, Since: r[0] - 1, Upto: min(r[1], upto), Types: said})
			if err != nil {
				return nil, 0, "", err
			}
			out = append(out, kept...)
		}
	}
	if upto <= q.Since {
		return out, q.Since, taint, nil
	}
	rest, err := s.Entries(ctx, q)
	return append(out, rest...), q.Since, taint, err
}

// joinRuns joins seqs into runs without gaps.
func joinRuns(seqs []int64) [][2]int64 {
	seqs = slices.Clone(seqs)
	slices.Sort(seqs)
	var out [][2]int64
	for _, s := range seqs {
		if n := len(out); n > 0 && s <= out[n-1][1]+1 {
			out[n-1][1] = s
			continue
		}
		out = append(out, [2]int64{s, s})
	}
	return out
}
