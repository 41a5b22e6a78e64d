package chat

import (
	"slices"

	"fika"
)

// Node is an entry in the tree of answers.
type Node struct {
	fika.Entry
	Level  int     // 0: it answers no entry shown
	Parent int64   // seq of the entry that it answers; 0: none
	Also   []int64 // seqs of the other entries that it answers
}

// AnswerTree orders entries so that each answer follows the entry that it answers,
// one level deeper. covers lists the messages that each turn had to answer.
// Everything that a turn said answers the newest of those, unless it is itself a
// reply to an entry. An entry that is not among entries is nobody's parent.
func AnswerTree(entries []fika.Entry, covers map[fika.RequestID][]int64) []Node {
	seqs, ids := map[int64]bool{}, map[fika.EntryID]int64{}
	for _, e := range entries {
		seqs[e.Seq], ids[e.ID] = true, e.Seq
	}
	nodes, children := map[int64]Node{}, map[int64][]int64{}
	for _, e := range entries {
		n := Node{Entry: e}
		for _, seq := range covers[e.Request] {
			if e.Request != "" && seq < e.Seq && seqs[seq] {
				n.Also = append(n.Also, seq)
			}
		}
		slices.Sort(n.Also)
		if to := ids[e.ReplyTo]; e.ReplyTo != "" && to < e.Seq {
			n.Parent = to
		}
		if n.Parent == 0 && len(n.Also) > 0 {
			n.Parent = n.Also[len(n.Also)-1]
		}
		n.Also = slices.DeleteFunc(n.Also, func(s int64) bool { return s == n.Parent })
		nodes[e.Seq] = n
		children[n.Parent] = append(children[n.Parent], e.Seq)
	}
	out := make([]Node, 0, len(entries))
	// An answer is newer than the entry that it answers, so no entry is its own
	// ancestor. The stack is explicit because a chain may be as deep as its limits
	// allow.
	type place struct {
		seq   int64
		level int
	}
	var stack []place
	push := func(parent int64, level int) {
		for _, seq := range slices.Backward(children[parent]) {
			stack = append(stack, place{seq, level})
		}
	}
	push(0, 0)
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := nodes[p.seq]
		n.Level = p.level
		out = append(out, n)
		push(p.seq, p.level+1)
	}
	return out
}
