package agent

import (
	"context"

	"fika"
	"fika/internal/store"
	"fika/internal/turn"
)

// runningTurn is a turn under way, and how to end it.
type runningTurn struct {
	claimed store.Claimed
	cancel  context.CancelCauseFunc
}

// worksAt reports whether this process is working on a request.
func (p *Process) worksAt(id fika.RequestID) bool { return p.running[id] != nil }

// beginTurn runs a claimed request in its own goroutine.
func (p *Process) beginTurn(ctx context.Context, c store.Claimed) {
	ctx, cancel := context.WithCancelCause(ctx)
	p.running[c.Request.ID] = &runningTurn{claimed: c, cancel: cancel}
	p.rested = false
	p.turns.Add(1)
	go func() { // joined by ownerLoop
		defer p.turns.Done()
		defer cancel(nil)
		roomOnStack(0)
		res, err := p.opts.Work(ctx, c, p.stop, p.observeTurn(c))
		if run := c.Conversation.Run; run != "" && res.State.Terminal() {
			p.opts.Advance(context.WithoutCancel(ctx), run)
		}
		for _, k := range res.Children {
			if store.StandsForRun(k.Request) {
				p.opts.Advance(context.WithoutCancel(ctx), k.ID)
			}
		}
		p.postTask(func() { p.onTurnEnd(c, res, err) })
	}()
	p.setState(fika.AgentBusy)
}

// roomOnStack grows the stack of a new goroutine to the size that a turn needs. It
// would otherwise be doubled five times, and copied each time with the frames of
// everything under way: a thirtieth of the cost of a short turn.
//
//go:noinline
func roomOnStack(i int) byte {
	var room [24 << 10]byte
	return room[i]
}

// onTurnEnd reports the result of a turn to those who wait for it, and makes room for
// the next turn.
func (p *Process) onTurnEnd(c store.Claimed, res turn.Result, err error) {
	delete(p.running, c.Request.ID)
	p.idleSince = p.opts.Now()
	switch {
	case fika.IsKind(err, fika.Lost):
		p.opts.Display.Warn("the request went to another owner: " + err.Error())
	case store.IsLasting(err):
		p.opts.Display.Failed(err.Error())
		p.endAll(err, err) // the hub reports it, and nothing more is accepted in silence
	case err != nil:
		p.opts.Display.Warn(err.Error())
		p.opts.Display.Failed(err.Error())
	case len(res.Children) > 0:
		for _, k := range res.Children {
			p.opts.Wake(k.AgentName)
		}
	case res.State.Terminal():
		p.processed.Add(1)
		if c.Request.Addressed != "" {
			_ = p.opts.Bus.Publish(p.opts.Subjects.Hub(), nil) // the hub announces the outcome; it also looks by itself
		}
		if c.Request.Kind != fika.NotifyRequest {
			p.announcePending()
		} else if p.connected {
			p.announcer.lookSoon()
		}
	}
	if len(p.running) == 0 {
		p.setState(fika.AgentIdle)
	}
}

// cancelCause returns the error with which a signal cancels a turn.
func cancelCause(sig store.Signal) error {
	if sig.Deadline {
		return context.DeadlineExceeded
	}
	if sig.Reason == "" {
		return context.Canceled
	}
	return fika.Errorf(fika.Interrupted, "", "%s", sig.Reason)
}
