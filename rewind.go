package fika

import (
	"cmp"
	"slices"
)

// Cut is a part of a conversation that a rewind has taken out: the entries from one seq to
// another, both included.
type Cut struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Cuts are the parts of a conversation that are taken out now.
type Cuts []Cut

// CutsOf returns what the rewinds of a conversation, in any order, have taken out. What a
// later rewind has taken out has no effect any more, rewinds included.
func CutsOf(rewinds []Entry) (cuts Cuts) {
	rewinds = slices.SortedFunc(slices.Values(rewinds), func(a, b Entry) int { return cmp.Compare(b.Seq, a.Seq) })
	undone := map[int64]bool{}
	for _, e := range rewinds {
		switch {
		case e.Type != Rewind, undone[e.Seq], cuts.Has(e.Seq):
		case e.Meta.Undo > 0:
			undone[e.Meta.Undo] = true
		case e.Meta.Cut.From > 0 && e.Meta.Cut.To < e.Seq:
			cuts = append(cuts, e.Meta.Cut)
		}
	}
	return cuts
}

// Has reports whether the entry with a seq is taken out.
func (c Cuts) Has(seq int64) bool { return c.around(seq) != nil }

// Before returns the newest seq at or before one that is not taken out; 0 if there is none.
func (c Cuts) Before(seq int64) int64 {
	for cut := c.around(seq); cut != nil; cut = c.around(seq) {
		seq = cut.From - 1
	}
	return max(seq, 0)
}

// around returns a part that holds a seq; nil: none does.
func (c Cuts) around(seq int64) *Cut {
	for i := range c {
		if c[i].From <= seq && seq <= c[i].To {
			return &c[i]
		}
	}
	return nil
}

// NewestRewind returns the newest rewind that has an effect, which taking back the last one
// undoes; nil: none has.
func NewestRewind(rewinds []Entry) *Entry {
	rewinds = slices.SortedFunc(slices.Values(rewinds), func(a, b Entry) int { return cmp.Compare(b.Seq, a.Seq) })
	cuts := CutsOf(rewinds)
	for i, e := range rewinds {
		if e.Meta.Undo == 0 && !cuts.Has(e.Seq) && slices.Contains(cuts, e.Meta.Cut) {
			return &rewinds[i]
		}
	}
	return nil
}
