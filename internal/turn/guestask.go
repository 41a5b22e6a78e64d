package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/store"
	"fika/internal/system/sleep"
)

// guestLook is the first pause between two looks for the answer to a question of a guest,
// guestLookMost the longest.
const guestLook, guestLookMost = 5 * time.Millisecond, 500 * time.Millisecond

// May implements [GuestHost].
func (h guestHost) May(_ context.Context, now GuestCall) (bool, error) {
	c, v, err := h.judge(h.ctx, now)
	if err != nil || v.Do != guard.Ask {
		return err == nil && v.Do != guard.Deny, err
	}
	defer func() {
		h.mu.Lock()
		c.asking = false
		h.mu.Unlock()
	}()
	if h.isForeground() {
		return h.mayHere(h.ctx, c, v)
	}
	return h.mayLater(h.ctx, c, v)
}

// judge plans a call, and applies the rules to it.
func (g *guestTurn) judge(ctx context.Context, now GuestCall) (*guestCall, Verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return nil, Verdict{}, fika.Errorf(fika.Interrupted, "", "the turn has ended")
	}
	c := g.open[now.ID]
	if c == nil {
		c = &guestCall{}
		g.open[now.ID] = c
	}
	if err := g.plan(ctx, c, now); err != nil {
		return c, Verdict{}, err
	}
	// What is asked about counts, and not what the program has told of the call before.
	if args := g.guest.Redact(string(now.Args)); json.Valid([]byte(args)) {
		c.call.Name, c.call.Args = now.Tool, json.RawMessage(args)
	}
	v := Verdict{Do: guard.Ask, What: now.Tool, Rule: "its program asks"}
	if g.guard != nil {
		v = g.guard.Judge(ctx, c.call)
	}
	c.asking = v.Do == guard.Ask
	return c, v, nil
}

// mayHere asks the person at the terminal; where nobody is there, the answer is no.
func (g *guestTurn) mayHere(ctx context.Context, c *guestCall, v Verdict) (bool, error) {
	if g.gate.ask == nil {
		g.observeEvent(Event{Kind: Warning, Text: c.step.Tool + ": " + v.What + " needs approval (" + v.Rule + "), but no terminal is attached: denied"})
		return false, nil
	}
	err := g.gate.ask(ctx, Question{Call: c.call, Verdict: v})
	if err == nil || fika.IsKind(err, fika.Denied) {
		return err == nil, nil
	}
	return false, err
}

// mayLater asks people wherever they are, and waits. The program waits with it.
func (g *guestTurn) mayLater(ctx context.Context, c *guestCall, v Verdict) (bool, error) {
	until := g.now().Add(g.gate.askFor)
	a := store.Approval{
		Step: c.step.N, Tool: c.call.Name, Args: string(c.call.Args), Workspace: c.call.Workspace, What: v.What, Rule: v.Rule, Bound: v.Bound.String(),
	}
	var n int64
	var sig store.Signal
	err := g.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		n, sig, err = g.store.HoldApproval(ctx, g.fence, a, until)
		return err
	})
	if err != nil || n == 0 {
		return false, cmpError(err, sig)
	}
	for wait := guestLook; ; wait = min(2*wait, guestLookMost) {
		var now store.OpenApproval
		err := g.retry.readAgain(ctx, func(ctx context.Context) (err error) {
			now, err = g.store.Approval(ctx, n)
			return err
		})
		switch {
		case err != nil:
			return false, err
		case now.State == store.ApprovalGiven:
			return true, nil
		case now.State != store.ApprovalOpen:
			return false, nil
		case !g.now().Before(until):
			last, err := g.endHeld(ctx, n)
			return last.State == store.ApprovalGiven, err
		}
		if err := sleep.For(ctx, wait); err != nil {
			_, _ = g.endHeld(ctx, n) // the turn ends in any case
			return false, err
		}
	}
}

// endHeld takes a question back.
func (g *guestTurn) endHeld(ctx context.Context, n int64) (a store.Approval, err error) {
	err = g.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		a, err = g.store.EndHeld(ctx, g.fence, n)
		return err
	})
	return a, err
}

// cmpError returns err, or that a turn is to end and asks nobody.
func cmpError(err error, sig store.Signal) error {
	if err != nil {
		return err
	}
	return fika.Errorf(fika.Interrupted, "", "the turn is to end: %s", cmp.Or(sig.Reason, "cancelled"))
}
