package folder

import "fika"

// inWindow returns the rule for which seqs are in the window after the last valid
// compaction among entries, which are in order. A compaction that a later one has undone
// does not count, nor does one of a single agent's view.
func inWindow(entries []fika.Entry) func(seq int64) bool {
	undone := map[int64]bool{}
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		switch {
		case e.Type != fika.Compaction || undone[e.Seq] || e.Meta.View != "":
		case e.Meta.Undo > 0:
			undone[e.Meta.Undo] = true
		case e.Meta.UpTo > 0:
			return keptBy(e)
		}
	}
	return func(int64) bool { return true }
}

// WindowRule returns the rule for which seqs of a conversation are in the window, given
// its compactions in order.
func WindowRule(compactions []fika.Entry) func(seq int64) bool { return inWindow(compactions) }

// keptBy returns the rule for which seqs one compaction leaves in the window.
func keptBy(c fika.Entry) func(seq int64) bool {
	kept := make(map[int64]bool, len(c.Meta.Kept))
	for _, seq := range c.Meta.Kept {
		kept[seq] = true
	}
	return func(seq int64) bool { return seq > c.Meta.UpTo || kept[seq] }
}
