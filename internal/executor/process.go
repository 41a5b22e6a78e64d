package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"fika"
	"fika/internal/crash"
	"fika/internal/sleep"
	"fika/internal/store"
	"fika/internal/tool"
)

// Store is what an executor needs of the store.
type Store interface {
	ClaimStep(context.Context, store.ExecutorLease) (*store.ClaimedStep, error)
	StepsOf(context.Context, store.ExecutorLease) ([]store.Execution, error)
	FinishStep(ctx context.Context, l store.ExecutorLease, id fika.RequestID, n int, result string) error
	RecordExecution(ctx context.Context, l store.ExecutorLease, id fika.RequestID, n int, p fika.Process) error
	Recovery
}

// Recovery is what an executor does with the calls of the one before it, and with
// its lease.
type Recovery interface {
	TakeOver(context.Context, store.ExecutorLease) ([]store.ClaimedStep, error)
	RenewExecutor(ctx context.Context, l store.ExecutorLease, d time.Duration) error
}

// Runner judges a call and runs it. What goes wrong is a result.
type Runner interface {
	Run(ctx context.Context, c store.ClaimedStep, started func(fika.Process)) tool.Result
	// End ends what a call of a killed process has left running.
	End(ctx context.Context, c store.ClaimedStep)
	// Undo puts back the protected files that calls of a killed process changed, when
	// all of them are ended, and says what it did.
	Undo(warn func(string))
}

// Options are what an executor is made of.
type Options struct {
	Lease  store.ExecutorLease
	Store  Store
	Runner Runner
	Wake   <-chan struct{} // somebody says that there may be work
	Poll   time.Duration   // between two looks that nobody asked for
	Lasts  time.Duration   // of the lease after each sign of life
	Tell   func(string)    // a line for a person
	Still  func() error    // why it is not to claim anything more; nil: it is
}

const (
	// mostAtOnce is how many calls run side by side.
	mostAtOnce = 16
	// watchTime is how often calls that run are looked at: does anybody want them?
	watchTime = 200 * time.Millisecond
	// holdTime is how long a result is held for a store that does not take it.
	holdTime = time.Minute
)

// errUnwanted ends a call that nobody wants any more.
var errUnwanted = errors.New("it is not wanted any more")

// Process is an executor at work.
type Process struct {
	o       Options
	running map[string]context.CancelCauseFunc // by step
	ended   chan string
	calls   sync.WaitGroup
}

// New makes an executor.
func New(o Options) *Process {
	return &Process{o: o, running: map[string]context.CancelCauseFunc{}, ended: make(chan string, mostAtOnce)}
}

func keyOf(id fika.RequestID, n int) string { return fmt.Sprintf("%s/%d", id, n) }

// Run works until ctx ends, or Still says so, and then finishes the calls that run. The error is of
// kind Lost when another process is the executor now: then nothing is finished.
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
			cancel() // it finishes what runs
			ended = err
		}
		if ctx.Err() == nil {
			p.claimAll(work)
		}
		p.watch(work)
		p.rest(ctx)
	}
}

// rest waits until there may be something to do.
func (p *Process) rest(ctx context.Context) {
	wait := p.o.Poll
	done := ctx.Done()
	if len(p.running) > 0 {
		wait = watchTime
		if ctx.Err() != nil {
			done = nil // it has been heard: now the calls that run are waited for
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case key := <-p.ended:
		delete(p.running, key)
	case <-p.o.Wake:
	case <-done:
	case <-timer.C:
	}
}

// claimAll claims and begins what is offered.
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
			_ = p.o.Store.RecordExecution(context.WithoutCancel(ctx), p.o.Lease, c.Request, c.N, proc) // recovery finds it by its mark, too
		})
		crash.Point("executor result.before")
		p.finish(ctx, c, r)
		crash.Point("executor result.after")
	})
}

// finish stores a result. What has happened is held for a store that does not take
// it for the moment.
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
			p.o.Tell(fmt.Sprintf("what %s gave could not be stored: %v", keyOf(c.Request, c.N), err))
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
			cancel(errUnwanted) // or its end has just been stored
		}
	}
}

// takeOver ends what an earlier process had claimed and left, and says so in its
// results. None of it is run again: a command may have done anything.
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
		if crash.Without(crash.Once) {
			p.begin(ctx, c)
			continue
		}
		p.finish(ctx, c, tool.Result{IsError: true, Unknown: true, Text: "interrupted: it may or may not have run; check what it did before doing it again"})
	}
	return nil
}
