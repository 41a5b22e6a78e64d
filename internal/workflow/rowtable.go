package workflow

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// rowTable holds copies of the rows of a run and records which of them a plan has
// changed.
type rowTable struct {
	View
	rows    map[string]*Row
	order   []*Row            // by path and attempt, then in the order of creation
	below   map[string][]*Row // the live rows that each row holds; the run is ""
	changed map[string]bool
	moved   bool
}

func newRowTable(v View) *rowTable {
	t := &rowTable{View: v, rows: map[string]*Row{}, below: map[string][]*Row{}, changed: map[string]bool{}}
	for i := range v.Rows {
		r := v.Rows[i]
		t.order = append(t.order, &r)
	}
	slices.SortFunc(t.order, func(a, b *Row) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Attempt, b.Attempt))
	})
	for _, r := range t.order {
		t.rows[r.ID] = r
		t.below[r.Parent] = append(t.below[r.Parent], r)
	}
	return t
}

// full reports whether the plan touches as many rows as it may.
func (t *rowTable) full() bool { return len(t.changed) >= t.Max }

// touch records that a row has changed.
func (t *rowTable) touch(r *Row) {
	t.changed[r.ID] = true
	t.moved = true
}

// add adds a row that is not stored yet.
func (t *rowTable) add(r *Row) {
	r.ID = RowID(t.Run, r.Path, r.Attempt)
	r.Live = true
	t.rows[r.ID] = r
	t.order = append(t.order, r)
	t.below[r.Parent] = append(t.below[r.Parent], r)
	t.touch(r)
}

// retire removes a row from those that have to be looked at.
func (t *rowTable) retire(r *Row) {
	r.Live, r.Taken = false, true
	t.below[r.Parent] = slices.DeleteFunc(t.below[r.Parent], func(o *Row) bool { return o == r })
	t.touch(r)
}

// end gives a row its last state.
func (t *rowTable) end(r *Row, s State, reason, text string) {
	r.State, r.Reason, r.Error, r.Ended = s, reason, text, t.Now
	t.touch(r)
}

// live returns a copy of the present rows, so that the caller may add others
// meanwhile.
func (t *rowTable) live() []*Row {
	return slices.DeleteFunc(slices.Clone(t.order), func(r *Row) bool { return !r.Live })
}

// orphan reports whether any row above r has ended or is gone.
func (t *rowTable) orphan(r *Row) bool {
	for r.Parent != "" {
		if r = t.rows[r.Parent]; r == nil || r.State.Ended() {
			return true
		}
	}
	return false
}

// busy counts the rows being worked on, by the row that holds them.
func (t *rowTable) busy() map[string]int {
	n := map[string]int{}
	for _, r := range t.order {
		if r.Live && (r.State == Running || r.State == Asking) {
			n[r.Parent]++
		}
	}
	return n
}

// nextTimer returns when the earliest row has to be looked at again. A time that is
// far off is replaced by a nearer full minute, so that the same plan results until
// then.
func (t *rowTable) nextTimer() time.Time {
	var at time.Time
	for _, r := range t.order {
		if !r.Live || r.State.Ended() {
			continue
		}
		for _, next := range []time.Time{r.NotBefore, r.Deadline} {
			if !next.IsZero() && next.After(t.Now) && (at.IsZero() || next.Before(at)) {
				at = next
			}
		}
	}
	if far := t.Now.Truncate(time.Minute).Add(MaxWake); at.After(far) {
		return far
	}
	return at
}

// stepRows returns the rows of the steps of a workflow, by step. Those that are to be
// done again are left out.
func (t *rowTable) stepRows(scope *Row) map[string]*Row {
	rows := make(map[string]*Row, len(t.below[idOf(scope)]))
	for _, r := range t.below[idOf(scope)] {
		if old := rows[r.Step]; !r.Redo && (old == nil || r.Attempt > old.Attempt) {
			rows[r.Step] = r
		}
	}
	return rows
}

// stepRow returns the row of a step of the same workflow, or nil if it has none yet.
func (t *rowTable) stepRow(scope *Row, id string) *Row {
	var last *Row
	for _, r := range t.below[idOf(scope)] {
		if r.Step == id && !r.Redo && (last == nil || r.Attempt > last.Attempt) {
			last = r
		}
	}
	return last
}

// scopeOf returns the row of the workflow that a row belongs to, nil for the run
// itself, and the workflow's definition.
func (t *rowTable) scopeOf(r *Row) (*Row, *Definition) {
	for parent := t.rows[r.Parent]; parent != nil; parent = t.rows[parent.Parent] {
		if parent.Kind == KindWorkflow {
			return parent, t.inside(parent)
		}
	}
	return nil, t.Definition
}

// inside returns the definition of the workflow that a row runs.
func (t *rowTable) inside(r *Row) *Definition {
	return t.Definition.Nested[t.stepOf(r).Workflow]
}

func (t *rowTable) stepOf(r *Row) *Step {
	_, d := t.scopeOf(r)
	return d.Step(r.Step)
}
