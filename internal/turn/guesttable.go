package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/store"
	"fika/internal/system/sleep"
	"fika/internal/tool"
)

// tableWait is how long a guest waits for one call of a tool of fika's: its client gives up
// after a minute.
const tableWait = 45 * time.Second

// tableCall is a call of one of fika's own tools that a guest makes. It goes on when the
// guest's client hangs up: the same call again gets its result.
type tableCall struct {
	guestCall
	key   string        // that its tool does its work once for; as the step of the call is
	ended chan struct{} // closed when result or err is set
	err   error         // ends the turn
}

// Call implements [GuestHost].
func (h guestHost) Call(ctx context.Context, name string, args json.RawMessage) (tool.Result, error) {
	sum := tableHash(name, args)
	h.mu.Lock()
	if h.over {
		h.mu.Unlock()
		return tool.Errorf("not run: no request of this session is at work"), nil
	}
	c := h.table[sum]
	if c == nil {
		c = &tableCall{ended: make(chan struct{})}
		h.table[sum] = c
		h.working.Go(func() {
			c.err = h.carry(h.ctx, c, name, args, sum)
			close(c.ended)
		})
	}
	h.mu.Unlock()
	late := time.NewTimer(tableWait)
	defer late.Stop()
	select {
	case <-c.ended:
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	case <-late.C:
		return tool.Result{Text: "It is still at work. To go on waiting, call " + name + " again with exactly the same arguments: that does not begin anything twice."}, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.table[sum] == c {
		delete(h.table, sum)
	}
	if c.err != nil {
		return tool.Result{}, c.err
	}
	return *c.result, nil
}

// tableHash identifies a call by its tool and arguments, however these are written.
func tableHash(name string, args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) == nil {
		if raw, err := json.Marshal(v); err == nil {
			args = raw
		}
	}
	sum := sha256.Sum256([]byte(name + "\x00" + string(args)))
	return hex.EncodeToString(sum[:16])
}

// carry makes a call: planned, judged, begun, made, recorded. What the program tells besides
// comes in between.
func (g *guestTurn) carry(ctx context.Context, c *tableCall, name string, args json.RawMessage, sum string) error {
	if err := g.planTable(ctx, c, name, args, sum); err != nil {
		return err
	}
	if c.result == nil && c.job.ask != nil {
		if err := g.askTable(ctx, c); err != nil {
			return err
		}
	}
	if c.result == nil {
		var err error
		if d, ok := tool.DelegatorOf(c.tool); ok {
			err = g.delegate(ctx, c, d)
		} else {
			err = g.callTable(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tools.commitResult(ctx, &c.job)
}

// planTable commits a call with what was said before it, and judges it.
func (g *guestTurn) planTable(ctx context.Context, c *tableCall, name string, args json.RawMessage, sum string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := g.guest.Redact(string(args))
	if !json.Valid([]byte(text)) {
		text = "{}"
	}
	effect := fika.Pure
	i := slices.IndexFunc(g.offered, func(s tool.Spec) bool { return s.Name == name })
	if i >= 0 {
		effect = g.offered[i].Effect
	}
	if err := g.commitCall(ctx, &c.guestCall, store.PlannedCall{Tool: name, Args: text, ArgsHash: sum, Effect: effect}); err != nil {
		return err
	}
	if i < 0 {
		r := tool.Errorf(fmt.Sprintf("no tool is named %.80q here", name))
		c.result = &r
		return nil
	}
	if _, err := g.signals.ask(ctx); err != nil { // the mode may have changed
		return err
	}
	c.call.Mode = g.mode
	if at := slices.IndexFunc(g.before, func(s fika.Step) bool { return s.ArgsHash == sum && s.Tool == name }); at >= 0 {
		c.key = tableKey(g.before[at]) // it was made before the interruption, and nobody knows whether its result was read
		g.before = slices.Delete(g.before, at, at+1)
		if effect == fika.Idempotent && name != "delegate" {
			c.call.Step = c.key
		}
	}
	g.gate.judgeCall(ctx, &c.job)
	return nil
}

// tableKey returns what the tool of a step did its work once for.
func tableKey(s fika.Step) string {
	if s.PreHash != "" {
		return s.PreHash
	}
	return fmt.Sprintf("%s/%d", s.Request, s.N)
}

// askTable asks a person about a call. A no is its result.
func (g *guestTurn) askTable(ctx context.Context, c *tableCall) error {
	waiting, cancel := g.whilePrompted(ctx)
	defer cancel()
	v := c.job.ask.Verdict
	ask := g.mayLater
	if g.isForeground() {
		ask = g.mayHere
	}
	yes, err := ask(waiting, &c.guestCall, v)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !yes {
		c.result = refusedBy("", "")
		return nil
	}
	if now := g.gate.guard.Judge(ctx, c.call); now.Do == guard.Deny {
		c.result = denialOf(now)
		return nil
	}
	g.gate.open(&c.job, v)
	return nil
}

// whilePrompted returns a context that also ends when the program has ended its turn.
func (g *guestTurn) whilePrompted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.prompted, cancel)
	return ctx, func() { stop(); cancel() }
}

// callTable begins a call and makes it.
func (g *guestTurn) callTable(ctx context.Context, c *tableCall) error {
	pre := ""
	if c.call.Step == c.key {
		pre = c.key
	}
	if err := g.beginTable(ctx, c, pre); err != nil || c.result != nil {
		return err
	}
	g.tools.callOne(ctx, &c.job)
	return nil
}

// beginTable commits that a call begins. Under another mode than before it is judged again.
func (g *guestTurn) beginTable(ctx context.Context, c *tableCall, pre string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		var sig store.Signal
		err := g.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
			sig, err = g.tools.store.BeginTool(ctx, g.fence, c.step.N, pre, c.call.Mode)
			return err
		})
		if err != nil {
			return err
		}
		sig.Paused = false // a pause waits for the end of the turn
		if err := g.signals.applySignal(ctx, sig); err != nil {
			return err
		}
		if !sig.Moved {
			break
		}
		if g.tools.judgeUnder(ctx, &c.job, sig.Mode); c.result != nil {
			return nil
		}
	}
	g.tellCalled(&c.job)
	return nil
}

func (g *guestTurn) tellCalled(j *job) {
	g.observeEvent(Event{Kind: ToolCalled, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Args: j.call.Args, Round: j.step.Round})
}

// delegate gives another agent a task and waits for it, as long as the program does. A task
// that was given before an interruption is not given again.
func (g *guestTurn) delegate(ctx context.Context, c *tableCall, d tool.Delegator) error {
	given, err := d.Delegate(ctx, c.call)
	if err != nil {
		r := tool.Refusal(err)
		c.result = &r
		return nil
	}
	id, err := g.givenBefore(ctx, c.key)
	if err != nil {
		return err
	}
	if id != "" {
		if err := g.beginTable(ctx, c, string(id)); err != nil || c.result != nil {
			return err
		}
		return g.await(ctx, c, d, id)
	}
	var got store.Delegated
	err = g.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		got, err = g.store.HoldTask(ctx, g.fence, store.Delegation{
			N: c.step.N, Agent: given.Agent, Prompt: given.Prompt, Deadline: given.Deadline, Rights: c.call.Rights, Taint: c.call.Taint,
		})
		return err
	})
	if err != nil {
		return err
	}
	if err := g.signals.applySignal(ctx, got.Signal); err != nil {
		return err
	}
	if why, refused := got.Refused[c.step.N]; refused {
		r := tool.Errorf(why)
		c.result = &r
		return nil
	}
	g.tellCalled(&c.job)
	child := got.Children[0]
	g.guest.Wake(child.AgentName)
	return g.await(ctx, c, d, child.ID)
}

// givenBefore returns the task that a call has given before an interruption; "" if there is
// none that has an answer or may get one.
func (g *guestTurn) givenBefore(ctx context.Context, key string) (fika.RequestID, error) {
	if key == "" {
		return "", nil
	}
	id := fika.RequestID(key) // of a call that began: its task
	info, err := g.request(ctx, id)
	switch {
	case fika.IsKind(err, fika.NotFound):
		return "", nil
	case err != nil:
		return "", err
	case info.State.Terminal() && info.State != fika.Done:
		return "", nil
	}
	return id, nil
}

func (g *guestTurn) request(ctx context.Context, id fika.RequestID) (info store.RequestInfo, err error) {
	err = g.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		info, err = g.store.Request(ctx, id)
		return err
	})
	return info, err
}

// await waits for a task and reports what became of it.
func (g *guestTurn) await(ctx context.Context, c *tableCall, d tool.Delegator, id fika.RequestID) error {
	waiting, cancel := g.whilePrompted(ctx)
	defer cancel()
	for wait := guestLook; ; wait = min(2*wait, guestLookMost) {
		task, err := g.request(waiting, id)
		if err != nil && !fika.IsKind(err, fika.NotFound) {
			return err
		}
		ended := err != nil || task.State.Terminal()
		if !ended && !task.Deadline.IsZero() && g.now().After(task.Deadline) {
			err := g.retry.persistWrite(waiting, func(ctx context.Context) (err error) {
				task.Request, ended, err = g.store.EndTask(ctx, g.fence, id)
				return err
			})
			if err != nil {
				return err
			}
		}
		if ended {
			r := d.Report(c.call, task.AgentName, task.Request)
			r.Taint = task.Taint
			c.result = &r
			g.tools.firePostTool(ctx, &c.job)
			return nil
		}
		if err := sleep.For(waiting, wait); err != nil {
			return err
		}
	}
}

// unanswered returns the calls of fika's tools with which interrupted tries of a request
// ended: nothing shows that the program has read their results. steps are in the order of
// [Guests.StepsBefore].
func unanswered(steps []fika.Step, isOffered func(tool string) bool) (out []fika.Step) {
	var last fika.Step // the tool step of the round
	for _, s := range steps {
		switch {
		case s.Kind == fika.ToolStep && s.Effect != fika.Unsafe && isOffered(s.Tool):
			out, last = append(out, s), s
		case s.Kind == fika.FailedStep: // its cost, see [guestTurn.bookCut]
		case s.Kind == fika.ModelStep && last.Round == s.Round && last.CallEntry == s.Entry: // it was silent before
		default:
			return out
		}
	}
	return out
}
