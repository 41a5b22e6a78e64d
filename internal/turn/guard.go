package turn

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/guard"
	"fika/internal/store"
	"fika/internal/tool"
)

// byRules answers for calls that nobody is asked about.
const byRules = "the rules"

// maxRefusals is how many calls of one turn a person refuses before it ends.
const maxRefusals = 3

// Guard decides what becomes of tool calls before anything of them is started.
type Guard interface {
	// Judge applies what is in force now to a call. It runs nothing.
	Judge(context.Context, tool.Call) Verdict
}

// Verdict is what becomes of a call.
type Verdict struct {
	Do   guard.Action
	What string // the part of the call that it is about
	Rule string // what says so: a rule with its place and reason
	Hint string // what a person would write to be spared the question
	// Bound is all that an answer is bound to: the arguments, the working folder,
	// how it is confined, and the files that a command names.
	Bound guard.Bound
}

// Question is what a person who is there is asked about a call.
type Question struct {
	Call    tool.Call
	Verdict Verdict
	// Changed names what is not what it was when the call was approved; nil: it
	// has not been asked about before.
	Changed []string
}

// Approvals are what people are asked about calls of turns that can wait.
type Approvals interface {
	AskApproval(ctx context.Context, f store.Fence, list []store.Approval, until time.Time) (store.Signal, error)
	ApprovalsOf(ctx context.Context, f store.Fence) ([]store.Approval, error)
}

// loadApprovals reads what was answered while the request waited.
func (w *attempt) loadApprovals(ctx context.Context) error {
	w.approvals = map[int]store.Approval{}
	if len(w.pending) == 0 || w.claimed.Request.Origin == fika.Foreground {
		return nil
	}
	var list []store.Approval
	err := w.read(ctx, func(ctx context.Context) (err error) {
		list, err = w.cfg.Store.ApprovalsOf(ctx, w.fence)
		return err
	})
	for _, a := range list {
		w.approvals[a.Step] = a // the last one counts
		if a.State == store.ApprovalRefused {
			w.refusals++
		}
	}
	return err
}

// judge settles whether a job may be run, with the arguments that hooks leave.
// Hooks that ran before a question was asked do not run again.
func (w *attempt) judge(ctx context.Context, j *job) {
	if w.cfg.Guard == nil {
		if j.result = w.checkCall(j); j.result == nil {
			j.result = w.preTool(ctx, j)
		}
		return
	}
	before, asked := w.approvals[j.step.N]
	if asked {
		j.call.Args = []byte(before.Args)
	}
	if j.result = w.checkCall(j); j.result != nil {
		return
	}
	v := w.cfg.Guard.Judge(ctx, j.call)
	if j.result = denied(v); j.result != nil {
		return
	}
	if asked {
		j.result = w.heed(j, v, before)
		return
	}
	given := string(j.call.Args)
	if j.result = w.preTool(ctx, j); j.result != nil {
		return
	}
	if string(j.call.Args) != given {
		v = w.cfg.Guard.Judge(ctx, j.call)
		j.result = denied(v)
	}
	if j.result == nil && v.Do == guard.Ask {
		j.ask = &Question{Call: j.call, Verdict: v}
	}
}

// heed applies a person's answer to the call that it was given for.
func (w *attempt) heed(j *job, v Verdict, a store.Approval) *tool.Result {
	switch {
	case a.State == store.ApprovalRefused:
		return refusedBy(a.By, a.Why)
	case a.State == store.ApprovalExpired:
		return &tool.Result{IsError: true, Denied: true, Text: "denied: nobody answered when a person was asked about it; do without it"}
	case v.Do != guard.Ask:
	case a.Bound == "": // no rule asked then
		j.ask = &Question{Call: j.call, Verdict: v}
	default:
		if changed := v.Bound.Differences(guard.ParseBound(a.Bound)); len(changed) > 0 {
			j.ask = &Question{Call: j.call, Verdict: v, Changed: changed}
		}
	}
	return nil
}

func refusedBy(who, why string) *tool.Result {
	text := "denied by " + orElse(who, "the person")
	if why != "" {
		text += ": " + why
	}
	return &tool.Result{IsError: true, Denied: true, Text: text}
}

func denied(v Verdict) *tool.Result {
	if v.Do != guard.Deny {
		return nil
	}
	return &tool.Result{IsError: true, Denied: true, Text: fmt.Sprintf("denied: %s (%s)", v.What, v.Rule)}
}

// askAbout asks about the calls of a batch that need it, before any is started.
// A turn that can wait is suspended; at a terminal the person is asked; where
// nobody is there the turn ends.
func (w *attempt) askAbout(ctx context.Context, batch []*job) error {
	var open []*job
	for _, j := range batch {
		if j.result == nil && j.ask != nil {
			open = append(open, j)
		}
	}
	if w.refusals >= maxRefusals {
		return &ending{state: fika.RequestFailed, kind: fika.Denied, reason: fmt.Sprintf("%d of its tool calls were refused", w.refusals)}
	}
	if len(open) == 0 {
		return nil
	}
	if w.claimed.Request.Origin == fika.Foreground {
		return w.askHere(ctx, open)
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
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		sig, err = w.cfg.Store.AskApproval(ctx, w.fence, list, w.cfg.Now().Add(w.cfg.AskFor))
		return err
	})
	if err != nil {
		return err
	}
	if err := w.applySignal(ctx, sig); err != nil {
		return err
	}
	return &released{Result{State: fika.Waiting, Reason: string(fika.WaitApproval)}}
}

// askHere asks the person whose prompt it is.
func (w *attempt) askHere(ctx context.Context, open []*job) error {
	for _, j := range open {
		v := j.ask.Verdict
		if w.cfg.Ask == nil {
			return &ending{state: fika.RequestFailed, kind: fika.Denied,
				reason: fmt.Sprintf("%s wants to run %s, which needs your word (%s), and nobody is at a terminal. To allow it always, add to config.toml:\n%s", j.call.Name, v.What, v.Rule, v.Hint)}
		}
		err := w.cfg.Ask(ctx, *j.ask)
		switch {
		case ctx.Err() != nil:
			return w.interrupted(ctx)
		case fika.IsKind(err, fika.Denied):
			j.result = refusedBy("", fikaMessage(err))
			if w.refusals++; w.refusals >= maxRefusals {
				return &ending{state: fika.RequestFailed, kind: fika.Denied, reason: fmt.Sprintf("%d of its tool calls were refused", w.refusals)}
			}
		case err != nil:
			return w.failTurn(ctx, err)
		}
	}
	return nil
}

// fikaMessage is what an error says without its operation.
func fikaMessage(err error) string {
	if e, ok := err.(*fika.Error); ok {
		return e.Msg
	}
	return err.Error()
}
