package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
	"fika/internal/tool"
)

// Store is the part of the store that an executor needs.
type Store interface {
	ClaimStep(context.Context, store.ExecutorLease) (*store.ClaimedStep, error)
	StepsOf(context.Context, store.ExecutorLease) ([]store.Execution, error)
	FinishStep(ctx context.Context, l store.ExecutorLease, id fika.RequestID, n int, result string) error
	RecordExecution(ctx context.Context, l store.ExecutorLease, id fika.RequestID, n int, p fika.Process) error
	Recovery
}

// Recovery is the part of the store for the calls of the previous executor, and for the
// lease.
type Recovery interface {
	TakeOver(context.Context, store.ExecutorLease) ([]store.ClaimedStep, error)
	RenewExecutor(ctx context.Context, l store.ExecutorLease, d time.Duration) error
}

// Runner judges a call and runs it. Failures are results.
type Runner interface {
	Run(ctx context.Context, c store.ClaimedStep, started func(fika.Process)) tool.Result
	// End ends what a call of a killed process has left running.
	End(ctx context.Context, c store.ClaimedStep)
	// Left returns the result of a call that a killed process was making, once everything it
	// left running has ended. nil: it is known to have had no effect, and is made again.
	Left(ctx context.Context, c store.ClaimedStep) *tool.Result
	// Undo puts back the protected files that calls of a killed process changed, once all
	// of them have ended, and reports what it did through warn.
	Undo(warn func(string))
}

// Options configures an executor.
type Options struct {
	Lease  store.ExecutorLease
	Store  Store
	Runner Runner
	Wake   <-chan struct{} // signals that there may be work
	Poll   time.Duration   // interval for looking without a signal
	Lasts  time.Duration   // duration of the lease after each renewal
	Tell   func(string)    // prints a line for a person
	Still  func() error    // why it must not claim anything more; nil: it may
}

const (
	// mostAtOnce is how many calls run in parallel.
	mostAtOnce = 16
	// watchTime is how often running calls are checked for whether they are still wanted.
	watchTime = 200 * time.Millisecond
	// holdTime is how long a result is held while the store does not accept it.
	holdTime = time.Minute
)

// errUnwanted ends a call that nobody wants any more.
var errUnwanted = errors.New("it is not wanted any more")

// Process is an executor at work.
type Process struct {
	o       Options
	running map[string]context.CancelCauseFunc // by step
	ended   chan string
	failed  chan error // why a result could not be stored
	calls   sync.WaitGroup
}

// New returns an executor.
func New(o Options) *Process {
	return &Process{o: o, running: map[string]context.CancelCauseFunc{}, ended: make(chan string, mostAtOnce), failed: make(chan error, mostAtOnce)}
}

func keyOf(id fika.RequestID, n int) string { return fmt.Sprintf("%s/%d", id, n) }

// Run works until ctx ends or Still returns an error, and then finishes the running
// calls; it returns the error of Still, if any. The error is of kind Lost if another
// process is the executor now: then nothing is finished. It also ends when the store refuses a
// result for too long: the next process says of that call that it may have run.
func (p *Process) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer p.calls.Wait()
	defer stop(nil)
	if err := p.takeOver(work); err != nil {
		return err
	}
	renewed := time.Now()
	var ended error
	for {
		if time.Since(renewed) > p.o.Lasts/3 {
			err := p.o.Store.RenewExecutor(work, p.o.Lease, p.o.Lasts)
			if fika.IsKind(err, fika.Lost) {
				stop(err)
				return err
			}
			renewed = time.Now()
		}
		if ctx.Err() != nil && len(p.running) == 0 {
			return ended
		}
		if err := p.o.Still(); err != nil && ctx.Err() == nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			cancel() // it finishes the running calls
			ended = err
		}
		if ctx.Err() == nil {
			p.claimAll(work)
		}
		p.watch(work)
		if err := p.rest(ctx); err != nil {
			stop(err)
			return err
		}
	}
}

// rest waits until there may be something to do. It fails if a result could not be stored.
func (p *Process) rest(ctx context.Context) error {
	wait := p.o.Poll
	done := ctx.Done()
	if len(p.running) > 0 {
		wait = watchTime
		if ctx.Err() != nil {
			done = nil // ctx has ended; now it waits for the running calls
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case key := <-p.ended:
		delete(p.running, key)
	case err := <-p.failed:
		return err
	case <-p.o.Wake:
	case <-done:
	case <-timer.C:
	}
	return nil
}

// claimAll claims and begins the calls that are offered.
func (p *Process) claimAll(ctx context.Context) {
	for len(p.running) < mostAtOnce {
		crash.Point("executor claim.before")
		c, err := p.o.Store.ClaimStep(ctx, p.o.Lease)
		if err != nil {
			p.o.Tell("nothing could be claimed: " + err.Error())
			return
		}
		if c == nil {
			return
		}
		crash.Point("executor claim.after")
		p.begin(ctx, *c)
	}
}

// begin runs one call in a goroutine of its own.
func (p *Process) begin(ctx context.Context, c store.ClaimedStep) {
	key := keyOf(c.Request, c.N)
	ctx, cancel := context.WithCancelCause(ctx)
	p.running[key] = cancel
	p.calls.Go(func() {
		defer func() { p.ended <- key }()
		defer cancel(nil)
		p.o.Tell(fmt.Sprintf("@%s %s %s", c.Agent, c.Step.Tool, key))
		r := p.o.Runner.Run(ctx, c, func(proc fika.Process) {
			_ = p.o.Store.RecordExecution(context.WithoutCancel(ctx), p.o.Lease, c.Request, c.N, proc) // recovery also finds it by its mark
		})
		crash.Point("executor result.before")
		p.finish(ctx, c, r)
		crash.Point("executor result.after")
	})
}

// finish stores a result. It holds the result while the store does not accept it.
func (p *Process) finish(ctx context.Context, c store.ClaimedStep, r tool.Result) {
	if fika.IsKind(context.Cause(ctx), fika.Lost) {
		return // the next executor decides
	}
	text, err := json.Marshal(r)
	if err != nil {
		text, _ = json.Marshal(tool.Errorf("its result cannot be written down: " + err.Error()))
	}
	safe, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTime)
	defer cancel()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := p.o.Store.FinishStep(safe, p.o.Lease, c.Request, c.N, string(text))
		if err == nil || !fika.IsKind(err, fika.Storage) {
			if err != nil {
				p.o.Tell(fmt.Sprintf("what %s gave is of no use any more: %v", keyOf(c.Request, c.N), err))
			}
			return
		}
		if sleep.For(safe, wait) != nil {
			p.failed <- fika.Errorf(fika.Storage, "", "what %s gave could not be stored: %v", keyOf(c.Request, c.N), err)
			return
		}
	}
}

// watch ends the calls that nobody wants any more.
func (p *Process) watch(ctx context.Context) {
	if len(p.running) == 0 {
		return
	}
	list, err := p.o.Store.StepsOf(ctx, p.o.Lease)
	if err != nil {
		return // at the next look
	}
	wanted := map[string]bool{}
	for _, x := range list {
		wanted[keyOf(x.Request, x.N)] = !x.Canceled
	}
	for key, cancel := range p.running {
		if !wanted[key] {
			cancel(errUnwanted) // or its result has just been stored
		}
	}
}

// takeOver ends the calls that an earlier process had claimed and left, and says so in
// their results. A command is not run again, because it may have done anything.
func (p *Process) takeOver(ctx context.Context) error {
	left, err := p.o.Store.TakeOver(ctx, p.o.Lease)
	if err != nil {
		return err
	}
	for _, c := range left {
		p.o.Runner.End(ctx, c)
	}
	crash.Point("executor ended")
	p.o.Runner.Undo(p.o.Tell)
	for _, c := range left {
		r := p.o.Runner.Left(ctx, c)
		if r == nil || crash.Without(crash.Once) {
			p.begin(ctx, c)
			continue
		}
		p.finish(ctx, c, *r)
	}
	return nil
}
