package workflow

import (
	"bytes"
	"encoding/json"
	"slices"

	"fika"
	"fika/internal/settings/toml"
)

// ResumeRows returns the rows to write so that a run that has ended goes on: finished
// work stays, the rest is done again as new attempts, and so are the step from (if
// not empty) and all steps that need it. Of a for_each, only the items that are not
// done are repeated. If nothing is left but failures that later steps have accepted,
// these are repeated, and all steps that need them. The definition may differ from the
// one that the run had before.
//
// rows are the live rows of the run's own steps and, for those of kind each, the last
// attempt at every item. ResumeRows fails with NotFound if there is no step from, and
// with Invalid if everything is done.
func ResumeRows(run string, before, now *Definition, rows []Row, from string) ([]Row, error) {
	r := &resumption{run: run, before: before, now: now, steps: map[string]*Row{}, items: map[string][]Row{}}
	for i := range rows {
		if rows[i].Parent == "" {
			r.steps[rows[i].Step] = &rows[i]
		} else {
			r.items[rows[i].Parent] = append(r.items[rows[i].Parent], rows[i])
		}
	}
	if from != "" && now.Step(from) == nil {
		return nil, fika.Errorf(fika.NotFound, "", "step %s not found%s", toml.Quote(from), orKnown(from, now.stepIDs()))
	}
	var roots []string
	if from != "" {
		roots = []string{from}
	}
	added := slices.ContainsFunc(now.Steps, func(s Step) bool { return r.steps[s.ID] == nil })
	again := r.again(roots)
	if len(again) == 0 && !added {
		again = r.again(r.accepted())
	}
	for i := range before.Steps {
		id := before.Steps[i].ID
		old := r.steps[id]
		switch {
		case old == nil:
		case now.Step(id) == nil:
			old.Live = false
			r.out = append(r.out, *old)
		case again[id] && id != from && r.reopens(old) && !anyOf(again, now.ancestors(id)):
			r.reopen(old)
		case again[id]:
			old.Redo = true
			r.out = append(r.out, *old)
		}
	}
	if len(r.out) == 0 && !added {
		return nil, fika.Errorf(fika.Invalid, "", "all steps are done: name one with --from to do it again, with those that need it")
	}
	return r.out, nil
}

type resumption struct {
	run         string
	before, now *Definition
	steps       map[string]*Row
	items       map[string][]Row // by the row of their for_each
	out         []Row
}

// states returns the rows of the steps as they are written now; a step without one has
// an empty row.
func (r *resumption) states() map[string]*Row {
	out := map[string]*Row{}
	for i := range r.now.Steps {
		id := r.now.Steps[i].ID
		if out[id] = r.steps[id]; out[id] == nil {
			out[id] = &Row{}
		}
	}
	return out
}

// again returns the steps that are not to stay as they are: those that are not done, the
// roots, and all that need a root.
func (r *resumption) again(roots []string) map[string]bool {
	again := map[string]bool{}
	states := r.states()
	for i := range r.now.Steps {
		s := &r.now.Steps[i]
		row := states[s.ID]
		if slices.Contains(roots, s.ID) || row.State == Blocked || row.notDone() && !madeUpFor(s, r.now, states) {
			again[s.ID] = true
		}
	}
	for i := range r.now.Steps {
		s := &r.now.Steps[i]
		after := r.now.ancestors(s.ID)
		afterRoot := slices.ContainsFunc(roots, func(id string) bool { return after[id] })
		if anyOf(again, after) && (states[s.ID].State != Done || afterRoot) {
			again[s.ID] = true
		}
	}
	return again
}

// notDone reports whether a row has ended without what was wanted of it.
func (r *Row) notDone() bool {
	return r.State == Failed || r.State == Cancelled && r.Reason != ReasonNotNeeded
}

func anyOf(all, of map[string]bool) bool {
	for id := range of {
		if all[id] {
			return true
		}
	}
	return false
}

// accepted returns the steps that are not done and whose failure a step with
// join = "ended" has made up for.
func (r *resumption) accepted() []string {
	var out []string
	states := r.states()
	for i := range r.now.Steps {
		s := &r.now.Steps[i]
		taken := slices.ContainsFunc(r.now.Steps, func(o Step) bool { return o.Join == JoinEnded && slices.Contains(o.Needs, s.ID) })
		if taken && states[s.ID].notDone() {
			out = append(out, s.ID)
		}
	}
	return out
}

// reopens reports whether the finished items of a row can stay: the step is written
// as before, and its list could be made.
func (r *resumption) reopens(old *Row) bool {
	if old.Kind != KindEach || old.Count == 0 || old.State == Done || old.State == Blocked {
		return false
	}
	a, errA := json.Marshal(r.before.Step(old.Step))
	b, errB := json.Marshal(r.now.Step(old.Step))
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// reopen lets a for_each go on with the items that are not done.
func (r *resumption) reopen(g *Row) {
	g.State, g.Reason, g.Error, g.Taken = Running, "", "", false
	g.Done, g.Failed, g.FirstFailed = 0, 0, 0
	r.out = append(r.out, *g)
	at := len(r.out) - 1
	for _, item := range r.items[g.ID] {
		if item.State == Done {
			r.out[at].Done++
			continue
		}
		next := Row{
			Path: item.Path, Parent: item.Parent, Step: item.Step, Kind: item.Kind, Index: item.Index, First: item.First,
			Attempt: item.Attempt + 1, Before: item.Attempt, Approved: item.Approved, State: Waiting, Live: true,
		}
		next.ID = RowID(r.run, next.Path, next.Attempt)
		r.out = append(r.out, next)
	}
	if r.out[at].Done == g.Count { // the run was stopped before anybody saw that
		r.out[at].State = Done
	}
}
