package workflow

import (
	"cmp"
	"fmt"
	"slices"
)

// advanceScopes begins the steps that are ready, in the run and in its nested
// workflows, and finishes the workflows in which all steps have ended.
func (e *engine) advanceScopes() {
	e.advanceScope(nil, e.Definition)
	for _, r := range e.live() {
		if e.full() || e.err != nil {
			return
		}
		if r.Kind == KindWorkflow && r.State == Running && !e.orphan(r) {
			e.advanceScope(r, e.inside(r))
		}
	}
}

func (e *engine) advanceScope(scope *Row, d *Definition) {
	steps := e.stepRows(scope)
	for i := range d.Steps {
		if s := &d.Steps[i]; steps[s.ID] == nil && !e.full() && e.err == nil {
			e.consider(scope, s, steps)
		}
	}
	if e.full() || e.err != nil {
		return
	}
	e.dropLosers(scope, d)
	if e.full() || e.moved {
		return // what has moved may move more; workflows end in a quiet pass
	}
	for _, r := range e.stepRows(scope) {
		if !r.State.Ended() || !r.Taken {
			return
		}
	}
	if len(e.stepRows(scope)) == len(d.Steps) {
		e.finish(scope, d)
	}
}

// idOf returns the id of a workflow's row; that of the run itself is empty.
func idOf(scope *Row) string {
	if scope == nil {
		return ""
	}
	return scope.ID
}

// newStepRow returns a new row for a step, as the next attempt if the step is to be
// done again.
func (e *engine) newStepRow(scope *Row, s *Step, state State) *Row {
	r := &Row{Path: insidePath(scope, s.ID), Parent: idOf(scope), Step: s.ID, Kind: s.Kind(), Attempt: 1, State: state}
	for _, old := range slices.Clone(e.below[idOf(scope)]) {
		if old.Step == s.ID && old.Redo {
			r.Attempt, r.Before = old.Attempt+1, old.Attempt
			e.retire(old)
		}
	}
	return r
}

// consider begins a step if the steps that it needs allow it.
func (e *engine) consider(scope *Row, s *Step, steps map[string]*Row) {
	verdict, first, why := ready(s, steps)
	if verdict == "" {
		return
	}
	if verdict == Running && s.When != "" {
		verdict, why = e.when(scope, s, first)
		if e.err != nil {
			return
		}
	}
	if verdict == Running {
		e.outer(scope, s, first)
		return
	}
	r := e.newStepRow(scope, s, verdict)
	r.First, r.Taken = first, true
	e.add(r)
	reason := ""
	if verdict == Failed {
		reason = ReasonCondition
	}
	e.end(r, verdict, reason, why)
}

// ready decides what becomes of a step: nothing yet (empty), running, or one of the
// ends. first is the step that decided join = "any".
func ready(s *Step, steps map[string]*Row) (verdict State, first, why string) {
	var done, skipped, ended int
	var bad *Row
	var winner *Row
	for _, n := range s.Needs {
		r := steps[n]
		if r == nil || !r.State.Ended() || !r.Taken {
			continue
		}
		ended++
		switch {
		case r.State == Failed && r.Done > 0: // some items are there to be read
			done++
			bad = cmp.Or(bad, r)
		case r.State == Done:
			done++
			if winner == nil || r.Ended.Before(winner.Ended) {
				winner = r
			}
		case r.State == Skipped:
			skipped++
		case bad == nil:
			bad = r
		}
	}
	all := ended == len(s.Needs)
	switch {
	case s.Join == JoinAny && winner != nil:
		return Running, winner.Step, ""
	case !all:
		return "", "", ""
	case bad == nil && (s.Join == "" || s.Join == JoinAll), s.Join == JoinEnded && (done > 0 || len(s.Needs) == 1 && skipped == 0):
		return Running, "", ""
	case skipped == len(s.Needs):
		return Skipped, "", "all that it needs was skipped"
	}
	return Blocked, "", fmt.Sprintf("%s is %s", bad.Step, bad.State)
}

// when decides the condition of a step.
func (e *engine) when(scope *Row, s *Step, first string) (State, string) {
	r := &Row{Step: s.ID, Parent: idOf(scope), First: first}
	data, _, err := e.data(r, s.code.when.refs)
	if e.err != nil {
		return "", ""
	}
	holds := false
	if err == nil {
		holds, err = s.code.when.truth(data)
	}
	switch {
	case err != nil:
		return Failed, "when: " + err.Error()
	case !holds:
		return Skipped, "its condition did not hold: " + s.When
	}
	return Running, ""
}

// dropLosers cancels the steps that nobody waits for any more because another was
// first.
func (e *engine) dropLosers(scope *Row, d *Definition) {
	steps := e.stepRows(scope)
	for i := len(d.Steps) - 1; i >= 0; i-- {
		s := &d.Steps[i]
		r := steps[s.ID]
		if e.full() || r != nil && r.State.Ended() || !e.unneeded(s, d, steps) {
			continue
		}
		if r == nil {
			r = e.newStepRow(scope, s, Skipped)
			e.add(r)
		}
		e.cancel(r, Cancelled, ReasonNotNeeded, "")
		r.Taken = true
		steps[s.ID] = r
		i = len(d.Steps) // the steps that it needed may be unneeded now
	}
}

// unneeded reports whether all steps that need a step have begun without it or were
// cancelled for the same reason.
func (e *engine) unneeded(s *Step, d *Definition, steps map[string]*Row) bool {
	if slices.Contains(d.Result, s.ID) {
		return false
	}
	needed := 0
	for i := range d.Steps {
		other := &d.Steps[i]
		if !slices.Contains(other.Needs, s.ID) {
			continue
		}
		needed++
		r := steps[other.ID]
		if r == nil || other.Join != JoinAny && (r.State != Cancelled || r.Reason != ReasonNotNeeded) {
			return false
		}
	}
	return needed > 0
}
