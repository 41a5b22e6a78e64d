package agent

import (
	"context"

	"fika"
	"fika/internal/store"
	"fika/internal/turn"
)

// job is a running turn.
type job struct {
	claimed store.Claimed
	cancel  context.CancelCauseFunc
}

// worksAt reports whether a request is being worked here.
func (p *Process) worksAt(id fika.RequestID) bool { return p.running[id] != nil }

// beginTurn runs a claimed request in a goroutine of its own.
func (p *Process) beginTurn(ctx context.Context, c store.Claimed) {
	ctx, cancel := context.WithCancelCause(ctx)
	p.running[c.Request.ID] = &job{claimed: c, cancel: cancel}
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
		p.postTask(func() { p.onTurnEnd(c, res, err) })
	}()
	p.setState(fika.AgentBusy)
}

// roomOnStack makes the stack of a new goroutine as large as a turn needs it. It
// would be doubled five times otherwise, and each time copied with the frames of
// everything that is under way: a thirtieth of what a short turn costs.
//
//go:noinline
func roomOnStack(i int) byte {
	var room [24 << 10]byte
	return room[i]
}

// onTurnEnd tells what came of a turn to whoever waits for it, and is ready for the
// next.
func (p *Process) onTurnEnd(c store.Claimed, res turn.Result, err error) {
	delete(p.running, c.Request.ID)
	p.idleSince = p.opts.Now()
	switch {
	case fika.IsKind(err, fika.Lost):
		p.opts.Display.Warn("the request went to another owner: " + err.Error())
	case store.IsLasting(err):
		p.opts.Display.Failed(err.Error())
		p.endAll(err, err) // the hub says so, and nothing is accepted in silence
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
			_ = p.opts.Bus.Publish(p.opts.Subjects.Hub(), nil) // it announces the outcome; it looks by itself as well
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

// cancelCause is why a turn is cancelled by a signal.
func cancelCause(sig store.Signal) error {
	if sig.Deadline {
		return context.DeadlineExceeded
	}
	if sig.Reason == "" {
		return context.Canceled
	}
	return fika.Errorf(fika.Interrupted, "", "%s", sig.Reason)
}
