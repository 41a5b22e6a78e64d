package compaction

import (
	"fika"
	"fika/internal/turn"
)

// Unit is archived or kept as a whole: all entries of one request, or one message that
// belongs to no request.
type Unit struct {
	Entries []fika.Entry
	Tokens  int64 // estimated
	// Keep means that a turn still has to answer it.
	Keep bool
}

// newUnit returns entries as a unit. Pinned entries are kept, and so are calls that have
// no result yet, such as one that a person has to approve.
func newUnit(entries []fika.Entry) Unit {
	u := Unit{Entries: entries}
	open := 0
	for _, e := range entries {
		u.Tokens += turn.EstimateEntry(e)
		u.Keep = u.Keep || e.Pinned
		switch e.Type {
		case fika.ToolCall:
			open++
		case fika.ToolResult:
			open--
		}
	}
	u.Keep = u.Keep || open > 0
	return u
}

// DivideRounds divides what a turn under way has written into units: what it was asked,
// which is kept, and each answer of the model with the results of its calls. The newest
// answer is kept, because the turn goes on from there.
func DivideRounds(own []fika.Entry) []Unit {
	var units []Unit
	begin := 0
	for i, e := range own {
		calls := i > 0 && e.Type == fika.ToolCall && (own[i-1].Type == fika.ToolResult || isPrompt(own[i-1]))
		if i > begin && (calls || e.Type == fika.Message) {
			units, begin = append(units, newUnit(own[begin:i])), i
		}
	}
	if begin < len(own) {
		units = append(units, newUnit(own[begin:]))
	}
	for i := range units {
		if i == len(units)-1 || isPrompt(units[i].Entries[0]) {
			units[i].Keep = true
		}
	}
	return units
}

func isPrompt(e fika.Entry) bool { return e.Type == fika.Message && e.Meta.Writer != fika.ByAgent }

// DivideUnits divides the entries of a window into units, in order. The newest waiting
// messages that belong to no request are kept, because nobody has read them yet. If last
// is set, so is the newest unit, because a turn goes on from there.
func DivideUnits(window []fika.Entry, waiting int, last bool) []Unit {
	var units []Unit
	for _, g := range turn.GroupTurns(window) {
		units = append(units, newUnit(g))
	}
	for i := len(units) - 1; i >= 0 && waiting > 0; i-- {
		if units[i].Entries[0].Request == "" {
			units[i].Keep = true
			waiting--
		}
	}
	if last && len(units) > 0 {
		units[len(units)-1].Keep = true
	}
	return units
}

// Plan says which units leave the window and which stay.
type Plan struct {
	Archive, Keep []Unit
	// Before and After estimate the tokens in the window; the summary is not counted.
	Before, After int64
}

// CountArchived counts the entries that leave.
func (p Plan) CountArchived() int { return countEntries(p.Archive) }

// CountKept counts the entries that stay.
func (p Plan) CountKept() int { return countEntries(p.Keep) }

func countEntries(units []Unit) int {
	n := 0
	for _, u := range units {
		n += len(u.Entries)
	}
	return n
}

// splitUnits makes a plan from units and which of them go.
func splitUnits(units []Unit, gone []bool) Plan {
	var p Plan
	for i, u := range units {
		p.Before += u.Tokens
		if gone[i] {
			p.Archive = append(p.Archive, u)
		} else {
			p.Keep = append(p.Keep, u)
			p.After += u.Tokens
		}
	}
	return p
}

// PlanFull archives every unit that is not to be kept.
func PlanFull(units []Unit) Plan {
	gone := make([]bool, len(units))
	for i, u := range units {
		gone[i] = !u.Keep
	}
	return splitUnits(units, gone)
}

// PlanRolling archives the chosen units, then the oldest, until at least drop percent of
// the entries that may go have gone and the rest costs no more than room. The newest
// unit stays unless there is no room for it.
func PlanRolling(units []Unit, drop float64, room int64, chosen map[int]bool) Plan {
	gone := make([]bool, len(units))
	newest := len(units) - 1
	target := TargetCount(units, drop)
	archived, left := 0, int64(0)
	for _, u := range units {
		left += u.Tokens
	}
	take := func(i int) {
		gone[i] = true
		archived += len(units[i].Entries)
		left -= units[i].Tokens
	}
	for i, u := range units {
		if chosen[i] && !u.Keep && i != newest {
			take(i)
		}
	}
	for i := 0; i < newest && (archived < target || left > room); i++ {
		if !gone[i] && !units[i].Keep {
			take(i)
		}
	}
	if newest >= 0 && left > room && !units[newest].Keep {
		take(newest)
	}
	return splitUnits(units, gone)
}

// TargetCount returns how many entries a rolling compaction aims to archive.
func TargetCount(units []Unit, drop float64) int {
	free := 0
	for _, u := range units {
		if !u.Keep {
			free += len(u.Entries)
		}
	}
	return max(1, int(float64(free)*drop/100+0.5))
}

// entryMarks returns what a compaction entry records: everything up to upTo is out of
// the window except the kept seqs. Entries archived before, up to floor, stay archived.
func (p Plan) entryMarks(floor int64) (upTo int64, kept []int64) {
	upTo = floor
	for _, u := range p.Archive {
		for _, e := range u.Entries {
			upTo = max(upTo, e.Seq)
		}
	}
	for _, u := range p.Keep {
		for _, e := range u.Entries {
			if e.Seq <= upTo {
				kept = append(kept, e.Seq)
			}
		}
	}
	return upTo, kept
}
