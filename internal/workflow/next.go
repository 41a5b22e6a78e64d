package workflow

import (
	"slices"
	"time"
)

// maxBackoff bounds the pause before a retry.
const maxBackoff = time.Hour

// maxTouched is how many rows a plan touches if the view sets no bound.
const maxTouched = 300

// NextPlan returns what has to happen now in a run. It is a function of its argument
// alone: called again with the same view, it returns the same plan.
//
// A plan changes rows in whole pieces: an end is counted and marked as seen in one
// plan, and a row is made in the same plan as its call. So it does not matter after
// which plan everything stops, whether a plan was worked out and never stored, or in
// which order ends arrive: the rows always contain enough to go on, and a row that
// has ended is never begun again.
//
// The error is one of the outputs given with the view; in that case there is no plan.
func NextPlan(v View) (Plan, error) {
	e := newEngine(v)
	if v.Paused {
		return Plan{}, nil
	}
	for again := true; again && e.err == nil && !e.full(); {
		e.moved = false
		e.takeEnds()
		e.endOrphans()
		if v.Stop != "" {
			e.stop()
		} else {
			e.watchTimers()
			e.fillGroups()
			e.advanceScopes()
		}
		again = e.moved
	}
	if e.err != nil {
		return Plan{}, e.err
	}
	return e.plan(), nil
}

// engine works out one plan on copies of the rows.
type engine struct {
	*rowTable
	out Plan
	err error
}

func newEngine(v View) *engine {
	if v.Lists == nil {
		v.Lists = map[string][]any{}
	}
	if v.Max <= 0 {
		v.Max = maxTouched
	}
	return &engine{rowTable: newRowTable(v)}
}

// holds reports whether a row holds others.
func (r *Row) holds() bool {
	return r.Kind == KindEach || r.Kind == KindRepeat || r.Kind == KindWorkflow
}

// cancel ends an open row and whatever was begun for it. The rows that it holds
// become orphans.
func (e *engine) cancel(r *Row, s State, reason, text string) {
	if r.State == Asking || r.State == Running && !r.holds() {
		e.out.Cancel = append(e.out.Cancel, r.ID)
	}
	e.end(r, s, reason, text)
}

// plan returns the plan, with its rows in the order in which they were first seen.
func (e *engine) plan() Plan {
	p := e.out
	ended := func(id string) bool { return e.rows[id].State.Ended() }
	begun := map[string]bool{}
	for _, c := range p.Calls {
		begun[c.Row] = true
	}
	// What begins and ends in the same plan never happens.
	p.Cancel = slices.DeleteFunc(p.Cancel, func(id string) bool { return begun[id] })
	p.Calls = slices.DeleteFunc(p.Calls, func(c Call) bool { return ended(c.Row) })
	for _, r := range e.order {
		if e.changed[r.ID] {
			p.Rows = append(p.Rows, *r)
		}
	}
	p.More = e.full() && p.Result == nil
	if p.Result == nil {
		p.WakeAt = e.nextTimer()
	}
	return p
}

// MaxWake is the longest time after which a plan asks to be worked out again: so a
// clock that is put back is noticed, and a wake-up further ahead is a sign of one.
const MaxWake = 2 * time.Minute

// endOrphans ends the rows that belong to an ended row.
func (e *engine) endOrphans() {
	for _, r := range e.live() {
		if e.full() {
			return
		}
		if !e.orphan(r) {
			continue
		}
		if !r.State.Ended() {
			e.cancel(r, Cancelled, ReasonStopped, "")
		}
		e.retire(r)
	}
}

// watchTimers begins rows that have waited long enough and ends those that have taken
// too long.
func (e *engine) watchTimers() {
	busy := e.busy()
	for _, r := range e.live() {
		if e.full() {
			return
		}
		if r.State.Ended() || e.orphan(r) {
			continue
		}
		e.holdToClock(r)
		switch {
		case !r.Deadline.IsZero() && !r.Deadline.After(e.Now):
			e.cancel(r, Failed, ReasonTimeout, "it took longer than "+e.stepOf(r).Timeout.String())
		case r.State == Waiting && !r.NotBefore.After(e.Now) && e.room(r, busy):
			e.begin(r)
			busy[r.Parent]++
		}
	}
}

// room reports whether a row may begin: items wait for each other, those of a resumed
// run included.
func (e *engine) room(r *Row, busy map[string]int) bool {
	g := e.rows[r.Parent]
	return g == nil || g.Kind != KindEach || busy[g.ID] < e.stepOf(g).MaxParallel
}

// fillGroups makes the next items and rounds of the rows that hold some.
func (e *engine) fillGroups() {
	for _, g := range e.live() {
		if e.full() {
			return
		}
		if g.State != Running || e.orphan(g) {
			continue
		}
		switch g.Kind {
		case KindEach:
			step := e.stepOf(g)
			for g.Made < g.Count && len(e.below[g.ID]) < step.MaxParallel && !e.full() {
				i := g.Made
				g.Made++
				e.touch(g)
				e.inner(g, i, g.itemPath(i), step)
			}
		case KindRepeat:
			if len(e.below[g.ID]) == 0 && !e.full() {
				g.Made++
				e.touch(g)
				e.unit(g, g.Made, g.roundPath(g.Made), e.stepOf(g), 1)
			}
		}
	}
}

// stop ends everything that is open, and then the run.
func (e *engine) stop() {
	for _, r := range e.live() {
		if e.full() {
			return
		}
		if !r.State.Ended() {
			e.cancel(r, Cancelled, reasonOf(e.Stop), "")
		}
	}
	for _, r := range e.live() {
		if r.Parent != "" {
			return // the next pass retires it
		}
	}
	e.out.Result = &Result{State: Cancelled, Reason: ReasonStopped, Error: "the run was cancelled", Parts: e.parts()}
	if e.Stop != ReasonStopped {
		e.out.Result.State, e.out.Result.Reason, e.out.Result.Limit = Failed, ReasonLimit, limitOf(e.Stop)
		e.out.Result.Error = "the run came to its limit " + e.out.Result.Limit
	}
}

// reasonOf returns the reason of the rows that end because a run is to end.
func reasonOf(stop string) string {
	if stop == ReasonStopped {
		return stop
	}
	return ReasonLimit
}

// limitOf returns the name of the limit for which a run is to end. Whoever finds that
// the time of a request is up knows of no limits and gives [ReasonLimit].
func limitOf(stop string) string {
	if stop == ReasonLimit {
		return LimitTime
	}
	return stop
}
