package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fika"
	"fika/internal/store"
)

// attempt is one request being worked. It holds the parts of a turn, ordered from those
// that know least to those that use the others, and calls them in order.
type attempt struct {
	*assignment
	*progress
	steps     Steps
	history   History
	maxRounds int

	exposure *exposure
	records  *records
	signals  *signals
	briefing *briefing
	window   *window
	gate     *gate
	tools    *toolRound
	model    *modelCall
	guest    *guestTurn // in the place of the loop of model and tools; nil: there is none
	finisher *finisher
}

// newAttempt assembles the parts that work a request.
func newAttempt(e *Engine, c store.Claimed) *attempt {
	cfg := &e.cfg
	s := cfg.Store
	job, done := newAssignment(e, c), &progress{model: cfg.ModelID}
	exposure := &exposure{assignment: job, progress: done, given: cfg.Taint}
	permits := &permits{assignment: job, exposure: exposure, bounds: cfg.Bounds, tools: cfg.Tools}
	records := newRecords(job, s.History)
	signals := &signals{assignment: job, progress: done, store: s.Control, steps: s.Steps, stop: cfg.Stop, limits: cfg.Limits, asked: c.Asked}
	briefing := &briefing{
		assignment: job, signals: signals, history: s.History,
		hooks: cfg.Hooks, prompter: cfg.Prompt, summary: cfg.Summary, context: cfg.Call.Context,
	}
	window := &window{
		assignment: job, progress: done, exposure: exposure, permits: permits, records: records, briefing: briefing,
		history: s.History, tokens: cfg.Window, final: cfg.Compactor == nil, continuation: cfg.Continuation,
	}
	gate := &gate{
		assignment: job, progress: done, signals: signals, permits: permits, store: s.Approvals,
		guard: cfg.Guard, hooks: cfg.Hooks, tools: cfg.Tools, ask: cfg.Ask, askFor: cfg.AskFor, now: cfg.Now,
	}
	calls := &toolCalls{
		assignment: job, progress: done, signals: signals, exposure: exposure, permits: permits, gate: gate, store: s.ToolSteps,
		bounds: cfg.Bounds, hooks: cfg.Hooks, guard: cfg.Guard, ask: cfg.Ask, template: cfg.Call,
		executor: cfg.Executor, executions: s.Executions,
	}
	waits := &taskWaits{assignment: job, progress: done, signals: signals, gate: gate, calls: calls, store: s.TaskWaits, tools: cfg.Tools}
	delegations := &delegations{
		assignment: job, progress: done, signals: signals, permits: permits, gate: gate, calls: calls,
		store: s.Children, tools: cfg.Tools,
	}
	composer := &composer{assignment: job, records: records, briefing: briefing, window: window, username: cfg.Call.Username}
	choice := &modelChoice{assignment: job, progress: done, permits: permits, window: window, Choice: cfg.Choice, models: cfg.models()}
	a := &attempt{
		assignment: job, progress: done, steps: s.Steps, history: s.History, maxRounds: cfg.MaxRounds,
		exposure: exposure, records: records, signals: signals, briefing: briefing, window: window, gate: gate,
		tools: &toolRound{progress: done, signals: signals, gate: gate, calls: calls, delegations: delegations, waits: waits, tools: cfg.Tools},
		model: &modelCall{
			assignment: job, progress: done, signals: signals, exposure: exposure, permits: permits, records: records,
			briefing: briefing, window: window, store: s.Steps,
			sizing: &sizing{
				assignment: job, progress: done, briefing: briefing, window: window, signals: signals, store: s.Steps,
				compactor: cfg.Compactor, compactAt: cfg.CompactAt, warnAt: cfg.WarnAt,
			},
			failures: &failures{
				assignment: job, progress: done, signals: signals, store: s.Control, models: cfg.models(), patience: cfg.Patience, now: cfg.Now, backed: cfg.Limits.Backed,
			},
			composer: composer,
			choice:   choice, tools: cfg.Tools, check: cfg.Check, schema: cfg.Schema, trace: cfg.Trace, now: cfg.Now,
		},
		finisher: &finisher{
			assignment: job, progress: done, exposure: exposure, permits: permits, briefing: briefing, choice: choice, store: s.Outcomes,
			echo:  &echoCheck{assignment: job, window: window, history: s.History, limits: cfg.Limits},
			hooks: cfg.Hooks, resolve: cfg.Mentioned, callable: cfg.Callable, context: cfg.Call.Context,
			limits: cfg.Limits, ttl: cfg.TTL,
		},
	}
	if cfg.Guest != nil {
		a.guest = &guestTurn{
			assignment: job, progress: done, guest: cfg.Guest, store: s.Guests, signals: signals, permits: permits, exposure: exposure, briefing: briefing,
			window: window, composer: composer, gate: gate, model: a.model, rounds: a.tools, tools: calls, guard: cfg.GuestGuard, check: cfg.Check, now: cfg.Now,
		}
	}
	return a
}

// runSteps settles the pending tool steps, checks whether the turn should stop, and asks
// the model, in a loop that ends when one of these steps stops the turn.
func (a *attempt) runSteps(ctx context.Context) error {
	if err := a.loadSteps(ctx); err != nil {
		return err
	}
	if !a.inChat() { // what bounds it was said elsewhere
		if err := a.signals.readMode(ctx); err != nil {
			return err
		}
	}
	if a.guest != nil {
		if a.mode == fika.PlanMode {
			return planForGuest()
		}
		return a.guest.run(ctx)
	}
	a.model.useLast()
	if err := a.briefing.preparePrompt(ctx); err != nil {
		return err
	}
	if len(a.pending) > 0 { // tool calls go on knowing what people said before
		if _, err := a.window.selectEntries(ctx); err != nil {
			return err
		}
	}
	for {
		if err := a.tools.runTools(ctx); err != nil {
			return err
		}
		if err := a.model.checked(ctx); err != nil {
			return err
		}
		if err := a.signals.checkSignals(ctx); err != nil {
			return err
		}
		if a.round >= a.maxRounds {
			return &ending{state: fika.RequestFailed, kind: fika.Limit,
				reason: fmt.Sprintf("%d model calls without a final answer; the limit is max_recursion_depth", a.round)}
		}
		if err := a.signals.takeInputs(ctx); err != nil {
			return err
		}
		if err := a.model.askModel(ctx); err != nil {
			return err
		}
	}
}

// loadSteps restores what earlier attempts of the request committed.
func (a *attempt) loadSteps(ctx context.Context) error {
	if !a.claimed.Resumed {
		if a.claimed.Prompt != nil {
			a.own = append(a.own, *a.claimed.Prompt)
		}
		a.exposure.taintOfOwn()
		return nil
	}
	var steps []fika.Step
	var own []fika.Entry
	err := a.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		if steps, err = a.steps.Steps(ctx, a.fence.Request); err == nil {
			own, err = a.history.OfRequest(ctx, a.fence.Request)
			own = slices.DeleteFunc(own, func(e fika.Entry) bool { return e.Conversation != a.claimed.Conversation.ID }) // of a former agent
		}
		return err
	})
	if err != nil {
		return err
	}
	a.restore(steps, own, a.claimed.Request.StartedAt)
	a.records.restore(steps)
	a.exposure.taintOfOwn()
	return a.gate.loadApprovals(ctx)
}

// concludeTurn turns the error that stopped a turn into its result, and commits the
// outcome if there is one.
func (a *attempt) concludeTurn(ctx context.Context, stop error) (Result, error) {
	if r := (*released)(nil); errors.As(stop, &r) {
		return r.Result, nil
	}
	end, over := outcomeOf(stop)
	if !over {
		return Result{}, stop
	}
	return a.finisher.commitOutcome(ctx, end)
}

// outcomeOf returns the outcome of a turn that cannot go on, and reports whether it is
// over. It is not over when the right to write is gone or the store takes nothing: then
// the next owner finds the request as it was. Any other error is an outcome, so that no
// request stays running with nobody at work.
func outcomeOf(err error) (*ending, bool) {
	var end *ending
	switch {
	case errors.As(err, &end):
		return end, true
	case fika.IsKind(err, fika.Lost, fika.Storage):
		return nil, false
	}
	return failedEnding(err), true
}

// Each step of a turn returns nil to go on, or an error that stops the turn: an *ending,
// a *released, or an error of the store or the model.

// ending is the outcome that a turn comes to.
type ending struct {
	state  fika.RequestState
	kind   fika.Kind
	reason string
	limit  string // the chain's limit that ends the turn
	stop   string // why the last answer ended, if it is not whole, or fika.Silent
	// rejected says that no answer was in the form asked for.
	rejected bool
	holds    bool // the task that is worked waits for a person now
	final    *store.ModelCommit
	answer   *fika.Entry // the final text, if it was committed before
	partial  string      // what was streamed of the answer that a person cut off
}

func (e *ending) Error() string { return fmt.Sprintf("%s: %s", e.state, e.reason) }

// released means that the request leaves this turn without an outcome, because it was
// suspended or handed back.
type released struct{ Result }

func (r *released) Error() string { return fmt.Sprintf("%s: %s", r.State, r.Reason) }

func failedEnding(err error) *ending {
	state := fika.RequestFailed
	if fika.KindOf(err) == fika.Interrupted {
		state = fika.Cancelled
	}
	return &ending{state: state, kind: fika.KindOf(err), reason: err.Error()}
}
