package turn

import (
	"cmp"
	"context"
	"errors"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

const (
	// justNow is how long what a claim has read counts as current.
	justNow = 20 * time.Millisecond
	// unsure is how long a turn is sure that it still has its agent. A process can be
	// halted, and a machine can sleep, for longer than a lease.
	unsure = time.Second
)

// Control lets the store tell a turn to stop or what a person adds, and lets the turn
// release its request.
type Control interface {
	Signal(context.Context, store.Fence) (store.Signal, error)
	TakeInputs(context.Context, store.Fence) ([]fika.Entry, error)
	Exceeded(context.Context, store.Fence, store.Limits) (store.Exceeded, error)
	Suspend(ctx context.Context, f store.Fence, reason fika.WaitReason, until time.Time) error
	HandBack(context.Context, store.Fence) error
}

// signals stops a turn between two steps, for a person, a deadline, a limit, or the end
// of the process, and gives it what people have queued for it.
type signals struct {
	*assignment
	*progress
	store  Control
	steps  Steps
	stop   <-chan struct{}
	limits store.Limits
	asked  time.Time // when the store was last asked whether the turn may go on
	read   time.Time // when it was last asked what bounds the turn; zero: never
	inputs bool      // people had queued texts for the turn then
}

// checkSignals checks between two steps whether the turn may go on.
func (s *signals) checkSignals(ctx context.Context) error {
	if ctx.Err() != nil {
		return s.interruptedBy(ctx)
	}
	select {
	case <-s.stop:
		return s.handBack(ctx, "the process is stopping")
	default:
	}
	if s.claimedJustNow() {
		return nil
	}
	sig, err := s.ask(ctx)
	if err != nil {
		return err
	}
	if err := s.applySignal(ctx, sig); err != nil {
		return err
	}
	s.inputs = sig.Inputs
	return s.checkLimits(ctx)
}

// takeInputs makes what people have queued for the turn, at the last check, a part of it. It
// comes right before a model call, which then holds it, while no tool call is open.
func (s *signals) takeInputs(ctx context.Context) error {
	if !s.inputs {
		return nil
	}
	s.inputs = false
	var said []fika.Entry
	err := s.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		said, err = s.store.TakeInputs(ctx, s.fence)
		return err
	})
	if err != nil || len(said) == 0 {
		return err
	}
	s.own = append(s.own, said...)
	s.observeEvent(Event{Kind: Committed, Entries: said, Round: s.round})
	return nil
}

// ask reads whether anybody wants the turn to stop. It fails with kind Lost if the turn
// no longer has its agent.
func (s *signals) ask(ctx context.Context) (sig store.Signal, err error) {
	s.asked = time.Now()
	s.read = s.asked
	err = s.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		sig, err = s.store.Signal(ctx, s.fence)
		return err
	})
	if err == nil {
		s.mode = sig.Mode
	}
	return sig, err
}

// readMode reads what bounds the turn, unless that was read just now. No call begins under
// another mode than it was judged under; reading it before spares most calls a second look.
func (s *signals) readMode(ctx context.Context) error {
	if !s.read.IsZero() && elapsed(s.read) < justNow {
		return nil
	}
	_, err := s.ask(ctx)
	return err
}

// claimedJustNow reports whether the claim, which takes nothing that is paused or
// cancelled, is so recent that nothing needs to be asked.
func (s *signals) claimedJustNow() bool {
	return s.round == 0 && !s.claimed.Resumed && s.claimed.Request.Deadline.IsZero() && elapsed(s.asked) < justNow
}

// checkHeld calls checkSignals right before an effect, if much time has gone by since
// the store was asked.
func (s *signals) checkHeld(ctx context.Context) error {
	if elapsed(s.asked) < unsure {
		return nil
	}
	return s.checkSignals(ctx)
}

// elapsed returns the longer of the times that two clocks show: one stands still while
// the machine sleeps, the other can be set back.
func elapsed(since time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// applySignal stops the turn when a person or a deadline asks for it.
func (s *signals) applySignal(ctx context.Context, sig store.Signal) error {
	switch {
	case sig.Cancel:
		return &ending{state: fika.Cancelled, kind: fika.Interrupted, reason: cmp.Or(sig.Reason, "cancelled")}
	case sig.Deadline:
		return &ending{state: fika.Cancelled, kind: fika.Limit, reason: "its deadline has passed"}
	case sig.Paused && !s.isForeground():
		err := s.retry.persistWrite(ctx, func(ctx context.Context) error {
			return s.store.Suspend(ctx, s.fence, fika.WaitPause, time.Time{})
		})
		if err != nil {
			return err
		}
		return &released{Result{State: fika.Waiting, Reason: "paused"}}
	}
	return nil
}

// interruptedBy decides what an ended context means. A turn that has lost its agent gets
// no outcome: the next owner finds the request as it was.
func (s *signals) interruptedBy(ctx context.Context) error {
	if cause := context.Cause(ctx); fika.IsKind(cause, fika.Lost) {
		return cause
	}
	if errors.Is(context.Cause(ctx), ErrStop) {
		return s.handBack(ctx, "the process is stopping")
	}
	reason := "cancelled"
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &ending{state: fika.Cancelled, kind: fika.Limit, reason: "its deadline has passed"}
	} else if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		reason = cause.Error()
	}
	return &ending{state: fika.Cancelled, kind: fika.Interrupted, reason: reason}
}

// failTurn decides what an error means that a step returned before it reached the store:
// if ctx has ended, what interruptedBy says; else the turn fails with it.
func (s *signals) failTurn(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return s.interruptedBy(ctx)
	}
	return failedEnding(err)
}

func (s *signals) handBack(ctx context.Context, reason string) error {
	err := s.retry.persistWrite(ctx, func(ctx context.Context) error { return s.store.HandBack(ctx, s.fence) })
	if err != nil {
		return err
	}
	return &released{Result{State: fika.Open, Reason: reason}}
}

// checkLimits checks between two steps whether the turn may still spend. A chain at its
// limit ends the turn; a used-up hour of its agent makes it wait, and so does a budget.
// With a person at a terminal the turn ends with the reason instead of waiting.
func (s *signals) checkLimits(ctx context.Context) error {
	if s.round == 0 {
		return nil
	}
	return s.checkSpending(ctx)
}

// checkSpending is checkLimits for a turn that has already spent something.
func (s *signals) checkSpending(ctx context.Context) error {
	l := s.limits.HoldingIn(s.claimed.Conversation.Limits)
	if l.MaxTokens <= 0 && l.MaxCost <= 0 && l.MaxAge <= 0 && l.HourTokens <= 0 && len(l.Budgets.List) == 0 {
		return nil
	}
	var x store.Exceeded
	err := s.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		x, err = s.store.Exceeded(ctx, s.fence, s.limits)
		return err
	})
	switch {
	case err != nil:
		return err
	case x.Chain != "":
		return &ending{state: fika.RequestFailed, kind: fika.Limit, reason: x.Reason, limit: x.Chain}
	case x.Reason == "":
		return nil
	case x.Until.IsZero() || s.isForeground():
		return &ending{state: fika.RequestFailed, kind: cmp.Or(x.Kind, fika.Limit), reason: x.Reason}
	}
	err = s.retry.persistWrite(ctx, func(ctx context.Context) error { return s.store.Suspend(ctx, s.fence, fika.WaitLimit, x.Until) })
	if err != nil {
		return err
	}
	return &released{Result{State: fika.Waiting, Reason: x.Reason}}
}

// spend commits what a model call that came to nothing has cost.
func (s *signals) spend(ctx context.Context, m store.Spent) error {
	var booked []limit.Booked
	err := s.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		booked, err = s.steps.Spend(ctx, s.fence, m)
		return err
	})
	if err == nil {
		s.usage = s.usage.Add(m.Usage)
		s.tellSpent(booked)
	}
	return err
}

// tellSpent warns of budgets that are running out.
func (s *signals) tellSpent(booked []limit.Booked) {
	for _, text := range s.limits.Budgets.Warnings(booked) {
		s.observeEvent(Event{Kind: Warning, Text: text})
	}
}
