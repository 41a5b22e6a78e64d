package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// takeEnds passes each new end to the row that holds the ended one.
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

// retryable reports whether a failed row is to be tried again. It is not if a person
// ended or refused it, or if it would fail the same way again.
func (r *Row) retryable(s *Step) bool {
	if r.Kind == KindEach || r.Kind == KindRepeat || r.State != Failed || r.Attempt-r.Before > s.Retry.Max {
		return false
	}
	switch r.Reason {
	case ReasonDenied, ReasonLimit, ReasonPrompt, ReasonCondition:
		return false
	}
	return true
}

// count adds the end of an item to its group, and ends the group with its last item.
func (e *engine) count(g, r *Row) {
	if r.State == Done {
		g.Done++
	} else {
		if g.Failed == 0 || r.Index < g.FirstFailed {
			g.FirstFailed, g.Error = r.Index, r.Why()
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

// Why returns in a few words why a row is not done.
func (r *Row) Why() string {
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

// finish ends a workflow in which all steps have ended.
func (e *engine) finish(scope *Row, d *Definition) {
	steps := e.stepRows(scope)
	bad := firstFailure(d, steps)
	if scope == nil {
		result := &Result{State: Done, Parts: e.parts()}
		if bad != nil {
			result.State, result.Reason, result.Error = Failed, ReasonStep, "step "+bad.Path+" "+string(bad.State)+": "+bad.Why()
		}
		for _, r := range e.live() {
			if r.Parent != "" {
				return // the orphans end first
			}
		}
		e.out.Result = result
		return
	}
	if bad != nil {
		e.end(scope, Failed, ReasonStep, "step "+bad.Step+" "+string(bad.State)+": "+bad.Why())
		return
	}
	if err := e.giveOutput(scope, d, steps); err != nil {
		e.end(scope, Failed, ReasonStep, err.Error())
	} else if e.err == nil {
		e.end(scope, Done, "", "")
	}
}

// firstFailure returns the first failed step, in the order of the file, that no other
// step made up for, as a step does that waits for the first of several or goes on
// whatever became of them.
func firstFailure(d *Definition, steps map[string]*Row) *Row {
	for i := range d.Steps {
		s := &d.Steps[i]
		r := steps[s.ID]
		if r.notDone() && !madeUpFor(s, d, steps) {
			return r
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

// parts returns what became of the steps whose outputs are the run's.
func (e *engine) parts() []Part {
	steps := e.stepRows(nil)
	var out []Part
	for _, id := range e.Definition.results() {
		p := Part{Step: id}
		if s := e.Definition.Step(id); s.Agent != "" { // one that is not the same for the whole step has no name here
			p.Agent, _ = s.code.who[0].agent(map[string]any{"inputs": e.inputs(nil)})
		}
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

// giveOutput gives a nested workflow the output of its result: that of a single step,
// or one assembled from several. An error fails the row.
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
		text, err := e.wholeOutput(steps[id])
		if err != nil {
			return err
		}
		if len(ids) > 1 {
			fmt.Fprintf(&b, "## %s\n\n", id)
		}
		b.WriteString(text)
		if len(ids) > 1 {
			b.WriteString("\n\n")
		}
		if b.Len() > MaxList {
			return fmt.Errorf("what %s and the others gave: %w", id, ErrTooMuch)
		}
	}
	e.out.Outputs = append(e.out.Outputs, NewOutput{scope.ID, Output{Text: strings.TrimSpace(b.String()), JSON: len(ids) == 1}})
	scope.From = scope.ID
	return nil
}

// wholeOutput returns the entire output of a row as text; that of a group is the list
// of its items' outputs.
func (e *engine) wholeOutput(r *Row) (string, error) {
	if r.Kind != KindEach {
		if r.From == "" {
			return "", nil
		}
		return e.stored(r.From).Text, nil
	}
	d := &dataBuilder{engine: e, row: r}
	list := []any{}
	for _, o := range d.items(r) {
		if !o.JSON {
			list = append(list, o.Text)
			continue
		}
		list = append(list, json.RawMessage(o.Text))
	}
	data, err := json.Marshal(list)
	e.fail(err)
	return string(data), d.wrong
}
