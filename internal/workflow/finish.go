package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// takeEnds shows each end that nobody has seen yet to whatever holds the row.
func (e *engine) takeEnds() {
	ends := slices.DeleteFunc(e.live(), func(r *Row) bool { return !r.State.Ended() || r.Taken })
	slices.SortStableFunc(ends, func(a, b *Row) int { return a.Ended.Compare(b.Ended) })
	for _, r := range ends {
		if e.full() || e.err != nil {
			return
		}
		if e.orphan(r) {
			continue
		}
		parent, s := e.rows[r.Parent], e.stepOf(r)
		if r.retryable(s) && e.Stop == "" {
			e.retry(r, s)
			continue
		}
		switch {
		case parent != nil && parent.Kind == KindEach:
			e.count(parent, r)
		case parent != nil && parent.Kind == KindRepeat:
			e.closeRound(parent, r, s)
		default:
			r.Taken = true
			e.touch(r)
		}
	}
}

// retryable reports whether a row is to be tried once more: not what a person
// ended or refused, nor what would fail the same way again.
func (r *Row) retryable(s *Step) bool {
	if r.Kind == KindEach || r.Kind == KindRepeat || r.State != Failed || r.Attempt > s.Retry.Max {
		return false
	}
	switch r.Reason {
	case ReasonDenied, ReasonLimit, ReasonPrompt, ReasonCondition:
		return false
	}
	return true
}

// count adds the end of an item to its group, and ends the group with the last.
func (e *engine) count(g, r *Row) {
	if r.State == Done {
		g.Done++
	} else {
		if g.Failed == 0 || r.Index < g.FirstFailed {
			g.FirstFailed, g.Error = r.Index, describe(r)
		}
		g.Failed++
	}
	e.touch(g)
	e.retire(r)
	switch {
	case g.Done+g.Failed < g.Count:
	case g.Failed == 0:
		e.end(g, Done, "", "")
	default:
		e.end(g, Failed, ReasonItems, fmt.Sprintf("%d of %d items failed, the first is number %d: %s", g.Failed, g.Count, g.FirstFailed+1, g.Error))
	}
}

// describe is why a row is not done, in a few words.
func describe(r *Row) string {
	if r.Error != "" {
		return r.Error
	}
	return cmp.Or(r.Reason, string(r.State))
}

// closeRound ends a repetition, or lets the next round begin.
func (e *engine) closeRound(g, r *Row, s *Step) {
	if r.State != Done {
		e.end(g, r.State, r.Reason, r.Error)
		e.retire(r)
		return
	}
	data, _, err := e.data(r, s.code.until.refs) // last is still the round before
	if e.err != nil {
		return
	}
	g.From = r.From
	met := false
	if err == nil {
		met, err = s.code.until.truth(data)
	}
	switch {
	case err != nil:
		e.end(g, Failed, ReasonCondition, "until: "+err.Error())
	case met:
		e.end(g, Done, "", "")
	case r.Index >= s.Repeat.Max:
		e.end(g, Failed, ReasonRounds, fmt.Sprintf("%s did not come true in %d rounds", s.Repeat.Until, s.Repeat.Max))
	}
	e.touch(g)
	e.retire(r)
}

// advanceScopes begins the steps whose turn has come, in the run and in the
// workflows inside it, and ends those in which all is over.
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
		return // whatever moved may move more: the end is for a quiet pass
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

// stepRows are the rows of the steps of a workflow, by step.
func (e *engine) stepRows(scope *Row) map[string]*Row {
	parent := ""
	if scope != nil {
		parent = scope.ID
	}
	rows := make(map[string]*Row, len(e.below[parent]))
	for _, r := range e.below[parent] {
		if old := rows[r.Step]; old == nil || r.Attempt > old.Attempt {
			rows[r.Step] = r
		}
	}
	return rows
}

// consider begins a step if those that it needs allow it.
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
	r := &Row{Path: insidePath(scope, s.ID), Step: s.ID, Kind: s.Kind(), Attempt: 1, First: first, Taken: true}
	if scope != nil {
		r.Parent = scope.ID
	}
	e.add(r)
	reason := ""
	if verdict == Failed {
		reason = ReasonCondition
	}
	e.end(r, verdict, reason, why)
}

// ready says what is to become of a step: nothing yet (empty), running, or one
// of the ends. first is the step that decided join = "any".
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
	case bad == nil && (s.Join == "" || s.Join == JoinAll), s.Join == JoinEnded && done > 0:
		return Running, "", ""
	case skipped == len(s.Needs):
		return Skipped, "", "all that it needs was skipped"
	}
	return Blocked, "", fmt.Sprintf("%s is %s", bad.Step, bad.State)
}

// when decides the condition of a step.
func (e *engine) when(scope *Row, s *Step, first string) (State, string) {
	r := &Row{Step: s.ID, First: first}
	if scope != nil {
		r.Parent = scope.ID
	}
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

// dropLosers ends the steps that nobody waits for any more, because another
// was first.
func (e *engine) dropLosers(scope *Row, d *Definition) {
	steps := e.stepRows(scope)
	for i := len(d.Steps) - 1; i >= 0; i-- {
		s := &d.Steps[i]
		r := steps[s.ID]
		if e.full() || r != nil && r.State.Ended() || !e.unneeded(s, d, steps) {
			continue
		}
		if r == nil {
			r = &Row{Path: insidePath(scope, s.ID), Step: s.ID, Kind: s.Kind(), Attempt: 1, State: Skipped}
			if scope != nil {
				r.Parent = scope.ID
			}
			e.add(r)
		}
		e.cancel(r, Cancelled, ReasonNotNeeded, "")
		r.Taken = true
		steps[s.ID] = r
		i = len(d.Steps) // what it needed may be unneeded now
	}
}

// unneeded reports whether all that need a step have begun without it or were
// ended for the same reason.
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

// finish ends a workflow in which all steps have ended.
func (e *engine) finish(scope *Row, d *Definition) {
	steps := e.stepRows(scope)
	bad := firstFailure(d, steps)
	if scope == nil {
		result := &Result{State: Done, Parts: e.parts()}
		if bad != nil {
			result.State, result.Reason, result.Error = Failed, ReasonStep, "step "+bad.Path+" "+string(bad.State)+": "+describe(bad)
		}
		for _, r := range e.live() {
			if r.Parent != "" {
				return // orphans first
			}
		}
		e.out.Result = result
		return
	}
	if bad != nil {
		e.end(scope, Failed, ReasonStep, "step "+bad.Step+" "+string(bad.State)+": "+describe(bad))
		return
	}
	if err := e.giveOutput(scope, d, steps); err != nil {
		e.end(scope, Failed, ReasonStep, err.Error())
	} else if e.err == nil {
		e.end(scope, Done, "", "")
	}
}

// firstFailure is the first step, in the order of the file, that failed and
// that nobody made up for: whoever goes on with the first of several, or with
// whatever came of them, does so.
func firstFailure(d *Definition, steps map[string]*Row) *Row {
	for i := range d.Steps {
		s := &d.Steps[i]
		r := steps[s.ID]
		if r.State == Failed || r.State == Cancelled && r.Reason != ReasonNotNeeded {
			if !madeUpFor(s, d, steps) {
				return r
			}
		}
	}
	return nil
}

func madeUpFor(s *Step, d *Definition, steps map[string]*Row) bool {
	needed := 0
	for i := range d.Steps {
		other := &d.Steps[i]
		if !slices.Contains(other.Needs, s.ID) {
			continue
		}
		needed++
		if other.Join != JoinAny && other.Join != JoinEnded || steps[other.ID].State != Done {
			return false
		}
	}
	return needed > 0
}

// parts are what became of the steps whose outputs are the run's.
func (e *engine) parts() []Part {
	steps := e.stepRows(nil)
	var out []Part
	for _, id := range e.Definition.results() {
		p := Part{Step: id, Agent: e.Definition.Step(id).Agent}
		if r := steps[id]; r != nil {
			p.State, p.Error, p.From, p.Items = r.State, r.Error, r.From, r.Kind == KindEach
			if p.Items {
				p.From = r.ID
			}
		}
		out = append(out, p)
	}
	return out
}

// giveOutput gives a workflow inside the output of its result: that of the one
// step, or one that is put together. The error is that of the row.
func (e *engine) giveOutput(scope *Row, d *Definition, steps map[string]*Row) error {
	ids := slices.DeleteFunc(slices.Clone(d.results()), func(id string) bool { return steps[id].State != Done })
	if len(ids) == 0 {
		return nil
	}
	if r := steps[ids[0]]; len(ids) == 1 && r.Kind != KindEach {
		scope.From = r.From
		return nil
	}
	var b strings.Builder
	for _, id := range ids {
		build := &dataBuilder{engine: e, row: steps[id]}
		v := build.outputOf(steps[id])
		if build.wrong != nil {
			return build.wrong
		}
		text, isText := v.(string)
		if !isText {
			data, err := json.Marshal(v)
			e.fail(err)
			text = string(data)
		}
		if len(ids) > 1 {
			fmt.Fprintf(&b, "## %s\n\n", id)
		}
		b.WriteString(text)
		if len(ids) > 1 {
			b.WriteString("\n\n")
		}
	}
	e.out.Outputs = append(e.out.Outputs, NewOutput{scope.ID, Output{Text: strings.TrimSpace(b.String()), JSON: len(ids) == 1}})
	scope.From = scope.ID
	return nil
}
