package turn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/rights/guard"
	"fika/internal/store"
	"fika/internal/tool"
)

// byRules is recorded as the answerer of calls that nobody is asked about.
const byRules = "the rules"

// maxRefusals is how many calls of one turn a person may refuse before the turn ends.
const maxRefusals = 3

// Guard decides what becomes of tool calls before any part of them is started.
type Guard interface {
	// Judge applies the rules in force now to a call. It runs nothing.
	Judge(context.Context, tool.Call) Verdict
	// Bind returns what a person's yes to a call would be bound to, whatever the rules say.
	Bind(context.Context, tool.Call) guard.Bound
}

// Verdict is a guard's decision on a call.
type Verdict struct {
	Do   guard.Action
	What string // the part of the call that the verdict is about
	Rule string // the rule behind it, with its place and reason
	Hint string // what a person would write to avoid the question
	// Bound is everything that an answer is bound to: the arguments, the working folder,
	// how the call is confined, and the files that a command names.
	Bound guard.Bound
	// Opens lists the protected files that the call may change after a yes.
	Opens []string
	// Reaches lists the hosts that the call may reach, beside those of the settings, once
	// it may be made.
	Reaches []string
	// Lends lists the stored logins that the call may read once a person says yes, as lend
	// in the settings names them.
	Lends []string
	// Optional says that the call may be made without what it asks for: only the hosts ask.
	Optional bool
}

// Opened is what one call may do beyond its rights, because a person or a rule allows it.
type Opened struct {
	Files []string // protected files that it may change
	Hosts []string // hosts that its processes may reach
	Lends []string // stored logins that they may read
}

// Question is what a person at the terminal is asked about a call.
type Question struct {
	Call    tool.Call
	Verdict Verdict
	// Changed names what has changed since the call was approved; nil: nobody has been
	// asked about it before.
	Changed []string
}

// Approvals stores the questions about calls of turns that can wait, and reads the
// answers.
type Approvals interface {
	AskApproval(ctx context.Context, f store.Fence, list []store.Approval, until time.Time) (store.Signal, error)
	ApprovalsOf(ctx context.Context, f store.Fence) ([]store.Approval, error)
}

// gate decides which calls are made, by asking the tool, the hooks, the rules, and
// people.
type gate struct {
	*assignment
	*progress
	signals *signals
	permits *permits
	store   Approvals

	guard    Guard
	hooks    hook.Runner
	tools    *tool.Set
	ask      func(context.Context, Question) error
	askFor   time.Duration
	now      func() time.Time
	answered map[int]store.Approval // answers about earlier questions, by step
	refusals int                    // by people
}

// checkCall finds the tool and checks permission and arguments. It returns a refusal, or
// nil.
func (g *gate) checkCall(j *job) *tool.Result {
	t, err := g.tools.Find(j.step.Tool)
	if err == nil {
		err = g.permits.checkRights(j.step.Tool)
	}
	if err == nil {
		j.tool = t
		if err := g.tools.Validate(t, j.call.Args); err != nil {
			r := tool.Refusal(err)
			r.Text += g.permits.unseenSchema(t.Spec())
			return &r
		}
		return nil
	}
	r := tool.Refusal(err)
	return &r
}

// firePreTool lets hooks change the arguments or refuse the call.
func (g *gate) firePreTool(ctx context.Context, j *job) *tool.Result {
	out, err := g.hooks.Fire(ctx, hook.PreTool, hook.Payload{"tool_name": j.call.Name, "arguments": j.call.Args})
	if err != nil {
		return &tool.Result{IsError: true, Denied: true, Text: "refused: " + err.Error()}
	}
	if block, _ := out["block"].(bool); block {
		why, _ := out["message"].(string)
		return &tool.Result{IsError: true, Denied: true, Text: "refused by a hook: " + cmp.Or(why, "no reason given")}
	}
	raw, err := json.Marshal(out["arguments"])
	if err != nil || out["arguments"] == nil || bytes.Equal(raw, j.call.Args) {
		return nil
	}
	j.call.Args = raw
	return g.checkCall(j)
}

// loadApprovals reads the answers that came while the request waited.
func (g *gate) loadApprovals(ctx context.Context) error {
	g.answered = map[int]store.Approval{}
	if len(g.pending) == 0 || g.isForeground() {
		return nil
	}
	var list []store.Approval
	err := g.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		list, err = g.store.ApprovalsOf(ctx, g.fence)
		return err
	})
	for _, one := range list {
		g.answered[one.Step] = one // the last answer counts
		if one.State == store.ApprovalRefused {
			g.refusals++
		}
	}
	return err
}

// judgeCall settles whether a job may run, with the arguments that the hooks leave.
// Hooks that ran before a question was asked do not run again.
func (g *gate) judgeCall(ctx context.Context, j *job) {
	if g.guard == nil {
		if j.result = g.checkCall(j); j.result == nil {
			j.result = g.firePreTool(ctx, j)
		}
		return
	}
	before, asked := g.answered[j.step.N]
	if asked {
		j.call.Args = []byte(before.Args)
	}
	if j.result = g.checkCall(j); j.result != nil {
		return
	}
	v := g.guard.Judge(ctx, j.call)
	if j.result = denialOf(v); j.result != nil {
		return
	}
	if asked {
		j.result = g.applyAnswer(j, v, before)
		return
	}
	given := string(j.call.Args)
	if j.result = g.firePreTool(ctx, j); j.result != nil {
		return
	}
	if string(j.call.Args) != given {
		v = g.guard.Judge(ctx, j.call)
		j.result = denialOf(v)
	}
	switch {
	case j.result != nil:
	case v.Optional && g.isForeground() && g.ask == nil: // nobody is there: it goes without
	case v.Do == guard.Ask:
		j.ask = &Question{Call: j.call, Verdict: v}
	default:
		g.open(j, v)
	}
}

// judgeAgain settles whether a job that was let through may still run. Hooks do not run
// again, and nobody is asked: a call that a person would have to be asked about now is not
// run.
func (g *gate) judgeAgain(ctx context.Context, j *job) {
	if g.guard == nil {
		return
	}
	v := g.guard.Judge(ctx, j.call)
	j.result = denialOf(v)
	agreed := j.ask != nil || g.answered[j.step.N].Bound != ""
	if j.result == nil && v.Do == guard.Ask && !agreed {
		j.result = &tool.Result{IsError: true, Denied: true, Text: fmt.Sprintf("not run: a person has to be asked about it now (%s); call it again if it is still needed", v.Rule)}
	}
}

// mayRun reports whether nothing speaks against a call that no hook has seen yet.
func (g *gate) mayRun(ctx context.Context, j *job) bool {
	if g.checkCall(j) != nil {
		return false
	}
	if g.guard == nil {
		return true
	}
	do := g.guard.Judge(ctx, j.call).Do
	return do != guard.Deny && do != guard.Ask
}

// applyAnswer applies a person's answer to the call that it was given for.
func (g *gate) applyAnswer(j *job, v Verdict, answer store.Approval) *tool.Result {
	switch {
	case answer.State == store.ApprovalRefused:
		return refusedBy(answer.By, answer.Why)
	case answer.State == store.ApprovalExpired:
		return &tool.Result{IsError: true, Denied: true, Text: "denied: nobody answered when a person was asked about it; do without it"}
	case v.Do != guard.Ask:
		g.open(j, v)
	case answer.Bound == "": // no rule asked then
		j.ask = &Question{Call: j.call, Verdict: v}
	default:
		if changed := v.Bound.Differences(guard.ParseBound(answer.Bound)); len(changed) > 0 {
			j.ask = &Question{Call: j.call, Verdict: v, Changed: changed}
			return nil
		}
		g.open(j, v)
	}
	return nil
}

// askAbout asks about the calls of a batch that need it, before any of them is started.
// A turn that can wait is suspended; at a terminal the person is asked; where nobody is
// there the turn ends.
func (g *gate) askAbout(ctx context.Context, batch []*job) error {
	var open []*job
	for _, j := range batch {
		if j.result == nil && j.ask != nil {
			open = append(open, j)
		}
	}
	if g.refusals >= maxRefusals {
		return &ending{state: fika.RequestFailed, kind: fika.Denied, reason: fmt.Sprintf("%d of its tool calls were refused", g.refusals)}
	}
	if len(open) == 0 {
		return nil
	}
	if g.isForeground() {
		return g.askHere(ctx, open)
	}
	var list []store.Approval
	for _, j := range open {
		v := j.ask.Verdict
		what := v.What
		if len(j.ask.Changed) > 0 {
			what += " (changed since it was approved: " + strings.Join(j.ask.Changed, ", ") + ")"
		}
		list = append(list, store.Approval{
			Step: j.step.N, Tool: j.call.Name, Args: string(j.call.Args), Workspace: j.call.Workspace, What: what, Rule: v.Rule, Bound: v.Bound.String(),
		})
	}
	for _, j := range batch { // hooks have seen these: they do not run again
		if j.result == nil && j.ask == nil {
			list = append(list, store.Approval{
				Step: j.step.N, Tool: j.call.Name, Args: string(j.call.Args), Workspace: j.call.Workspace, State: store.ApprovalGiven, By: byRules,
			})
		}
	}
	var sig store.Signal
	err := g.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		sig, err = g.store.AskApproval(ctx, g.fence, list, g.now().Add(g.askFor))
		return err
	})
	if err != nil {
		return err
	}
	if err := g.signals.applySignal(ctx, sig); err != nil {
		return err
	}
	return &released{Result{State: fika.Waiting, Reason: string(fika.WaitApproval)}}
}

// askHere asks the person at the terminal, and ends the turn if nobody is there. A yes
// holds for what was judged: after the last answer every call that a person said yes to is
// judged again, and asked about again if something has changed since its question came.
func (g *gate) askHere(ctx context.Context, open []*job) error {
	for asked := open; len(asked) > 0; {
		for _, j := range asked {
			if err := g.askPerson(ctx, j); err != nil {
				return err
			}
		}
		asked = nil
		for _, j := range open {
			if j.result == nil && !g.stillHolds(ctx, j) {
				asked = append(asked, j)
			}
		}
	}
	return nil
}

// askPerson asks about one call. A no is the result of the job.
func (g *gate) askPerson(ctx context.Context, j *job) error {
	v := j.ask.Verdict
	if g.ask == nil {
		reason := fmt.Sprintf("%s: %s needs approval (%s), but no terminal is attached", j.call.Name, v.What, v.Rule)
		if v.Hint != "" {
			reason += ". To allow it always, add to config.toml:\n" + v.Hint
		}
		return &ending{state: fika.RequestFailed, kind: fika.Denied, reason: reason}
	}
	err := g.ask(ctx, *j.ask)
	switch {
	case ctx.Err() != nil:
		return g.signals.interruptedBy(ctx)
	case err == nil:
		return nil
	case !fika.IsKind(err, fika.Denied):
		return g.signals.failTurn(ctx, err)
	}
	j.result = refusedBy("", fika.ReasonOf(err))
	if g.refusals++; g.refusals >= maxRefusals {
		return &ending{state: fika.RequestFailed, kind: fika.Denied, reason: fmt.Sprintf("%d of its tool calls were refused", g.refusals)}
	}
	return nil
}

// stillHolds reports whether a yes to a call holds now. If not, it makes the question
// that names what has changed. A call that the rules deny meanwhile has its result.
func (g *gate) stillHolds(ctx context.Context, j *job) bool {
	v := g.guard.Judge(ctx, j.call)
	if j.result = denialOf(v); j.result != nil {
		return true
	}
	if v.Do != guard.Ask {
		g.open(j, v)
		return true
	}
	if changed := v.Bound.Differences(j.ask.Verdict.Bound); len(changed) > 0 {
		j.ask = &Question{Call: j.call, Verdict: v, Changed: changed}
		return false
	}
	g.open(j, v)
	return true
}

// open lets a call that is approved, or allowed by a rule, change the files and reach the
// hosts that this is about.
func (g *gate) open(j *job, v Verdict) {
	if (len(v.Opens) > 0 || len(v.Reaches) > 0 || len(v.Lends) > 0) && g.permits.bounds != nil {
		j.opened = Opened{v.Opens, v.Reaches, v.Lends}
		j.call.Confine = g.permits.bounds.Confine(g.permits.confined(), j.opened)
	}
}

func refusedBy(who, why string) *tool.Result {
	text := "denied by " + cmp.Or(who, "the person")
	if why != "" {
		text += ": " + why
	}
	return &tool.Result{IsError: true, Denied: true, Text: text}
}

func denialOf(v Verdict) *tool.Result {
	if v.Do != guard.Deny {
		return nil
	}
	return &tool.Result{IsError: true, Denied: true, Text: fmt.Sprintf("denied: %s (%s)", v.What, v.Rule)}
}
