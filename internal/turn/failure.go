package turn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

const (
	// firstWait is the mean of the first wait for a provider; each further one is twice as
	// long, up to longestWait.
	firstWait, longestWait = 4 * time.Second, 2 * time.Minute
	// maxWhy bounds the reason of a failure as it is stored and shown, in bytes.
	maxWhy = 300
	// backupWait is how long a request waits to be handed to a backup before it is tried for
	// the last time.
	backupWait = 10 * time.Second
)

// failure is a model call of this request that failed since the last one that did not.
type failure struct {
	model string
	why   string
	at    time.Time
	// passing says that the same call may succeed later. It is not known of failures before
	// a restart, which would have ended the turn otherwise.
	passing bool
}

// restoreFailures restores the failed calls at the end of what earlier attempts did since the
// agent began, which was not the first that did if the request was handed over.
func (p *progress) restoreFailures(steps []fika.Step, began time.Time) {
	for _, s := range steps {
		switch {
		case s.Kind == fika.ModelStep:
			p.failures = nil
		case s.Kind == fika.FailedStep && s.Choice != "" && !s.FinishedAt.Before(began):
			p.failures = append(p.failures, failure{s.Model, s.Choice, s.FinishedAt, true})
		}
	}
}

// failures decides what follows when a provider fails: the next model, a wait, or the end of
// the turn. Every failed call is a step, so that an owner after a crash goes on waiting
// within the same patience.
type failures struct {
	*assignment
	*progress
	signals  *signals
	store    Control
	models   []Model
	patience time.Duration // from the first failure to the last try; 0: nothing is waited for
	now      func() time.Time
	backed   bool // the agent has a backup
}

// handle returns nil if the call is to be made again, by the model that is then chosen, or
// an error that stops the turn.
func (f *failures) handle(ctx context.Context, cause error, started time.Time) error {
	var p *llm.ProviderError
	if !errors.As(cause, &p) || isInvalid(p) {
		return f.signals.failTurn(ctx, cause)
	}
	one := failure{model: f.model, why: oneLine(p), at: f.now(), passing: p.Retryable()}
	again := append(f.failures, one)
	wait := f.waitAfter(again, p.RetryAfter)
	next := f.hasNext(one.model)
	backup := !next && wait < 0 && f.mayGiveAway()
	if !next && wait < 0 && !backup {
		return f.signals.failTurn(ctx, f.giveUp(cause))
	}
	spent := store.Spent{Round: f.round, Kind: fika.FailedStep, Model: one.model, Why: one.why, StartedAt: started}
	if !next && !backup && !f.isForeground() && len(f.failures) == 0 {
		spent.Notice = f.notice(again)
	}
	if err := f.signals.spend(ctx, spent); err != nil {
		return err
	}
	f.failures = again
	f.round-- // the step that succeeds has the number
	f.observeEvent(Event{Kind: Restarted, Round: f.round + 1, Text: one.why})
	switch {
	case next:
		return nil
	case backup:
		return f.suspend(ctx, fika.WaitBackup, backupWait)
	}
	return f.wait(ctx, one.why, wait)
}

// mayGiveAway reports whether the request may wait for a backup of its agent, once: nothing
// has come of it. Whether there is one that takes it, the hub knows.
func (f *failures) mayGiveAway() bool {
	r := f.claimed.Request
	return (f.backed || r.Handed != "") && f.claimed.Waited != fika.WaitBackup && len(f.rounds) == 0 && store.MayGiveAway(r)
}

// hasNext reports whether there is a model after the one that failed.
func (f *failures) hasNext(model string) bool {
	i := indexOfModel(f.models, model)
	return i >= 0 && i < len(f.models)-1
}

// waitAfter returns how long to wait before the next try; negative: no further try is due,
// because none can succeed or patience is at its end.
func (f *failures) waitAfter(all []failure, asked time.Duration) time.Duration {
	passing := false
	for _, x := range all[max(0, len(all)-len(f.models)):] {
		passing = passing || x.passing
	}
	left := all[0].at.Add(f.patience).Sub(f.now())
	if !passing || left <= 0 || asked > left {
		return -1
	}
	tries := len(all) / len(f.models)
	mean := min(firstWait<<max(0, min(tries-1, 10)), longestWait)
	wait := time.Duration((0.5 + rand.Float64()) * float64(mean))
	return max(asked, min(wait, left))
}

// wait lets the time to the next try go by: at a terminal here, otherwise as a waiting
// request, which outlives this process.
func (f *failures) wait(ctx context.Context, why string, wait time.Duration) error {
	f.observeEvent(Event{Kind: Retrying, Text: why, After: wait})
	if f.isForeground() {
		if err := sleep.For(ctx, wait); err != nil {
			return f.signals.interruptedBy(ctx)
		}
		return nil
	}
	return f.suspend(ctx, fika.WaitProvider, wait)
}

func (f *failures) suspend(ctx context.Context, reason fika.WaitReason, wait time.Duration) error {
	until := f.now().Add(wait)
	err := f.retry.persistWrite(ctx, func(ctx context.Context) error { return f.store.Suspend(ctx, f.fence, reason, until) })
	if err != nil {
		return err
	}
	return &released{Result{State: fika.Waiting, Reason: string(reason)}}
}

// notice is posted when a turn begins to wait.
func (f *failures) notice(all []failure) string {
	return fmt.Sprintf("the provider of @%s fails: %s; it is asked again until %s (%s asks at once)",
		f.claimed.Agent.Name, all[len(all)-1].why, all[0].at.Add(f.patience).Format("15:04"), hint.RequestRetry.With(f.fence.Request))
}

// giveUp returns the error of a turn for which its provider never recovered.
func (f *failures) giveUp(cause error) error {
	if len(f.failures) == 0 {
		return cause
	}
	after := f.now().Sub(f.failures[0].at).Round(time.Second)
	return &fika.Error{Kind: fika.KindOf(cause), Op: "model call", Err: cause,
		Msg: fmt.Sprintf("gave up after %s and %d tries; %s tries again", after, len(f.failures)+1, hint.RequestRetry.With(f.fence.Request))}
}

// isInvalid reports whether a provider says that the call itself is wrong, so that no other
// provider would take it either.
func isInvalid(p *llm.ProviderError) bool { return p.Status == 400 || p.Status == 422 }

func oneLine(err error) string {
	return strings.ToValidUTF8(strings.Join(strings.Fields(err.Error()[:min(len(err.Error()), maxWhy)]), " "), "")
}

func indexOfModel(models []Model, id string) int {
	for i, m := range models {
		if m.ID == id {
			return i
		}
	}
	return -1
}
