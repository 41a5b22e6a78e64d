package turn

import (
	"context"
	"errors"
	"strings"
	"time"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/store"
)

// Outcomes end requests.
type Outcomes interface {
	Finish(context.Context, store.Fence, store.Finish) (store.Finished, error)
}

// finisher commits the outcome of a turn.
type finisher struct {
	*assignment
	*progress
	exposure *exposure
	permits  *permits
	briefing *briefing
	choice   *modelChoice
	echo     *echoCheck
	store    Outcomes
	hooks    hook.Runner
	resolve  func(ctx context.Context, c fika.Conversation, text string) ([]fika.AgentName, error)
	callable func(context.Context, fika.AgentName) string
	context  string // the name that hooks are given
	limits   store.Limits
	ttl      time.Duration
}

// commitOutcome commits the outcome: final entry, notifications and state in one
// transaction. If the store refuses it, the answer is not thrown away: it is in the
// Result, which then says Unsaved.
func (f *finisher) commitOutcome(ctx context.Context, end *ending) (Result, error) {
	safe := context.WithoutCancel(ctx)
	fin := store.Finish{State: end.state, Reason: end.reason, Final: end.final, Limits: f.limits, TTL: f.ttl, Limit: end.limit, Rejected: end.rejected, Holds: end.holds}
	fin.Outcome = fika.Outcome{ToolCalls: f.used, Usage: f.usage, Model: f.model, Models: f.choice.used(end.final), Taint: f.exposure.taint.From}
	fin.Rights = f.permits.passedRights()
	fin.Outcome.Stop = end.stop
	if end.final != nil && end.stop != fika.Silent {
		fin.Outcome.Answer = end.final.Text
		end.final.Plan = hasPlan(end.final.Text)
		fin.Notify, fin.Notice = f.resolveMentions(safe, end.final.Text)
		var err error
		if fin.Echo, err = f.echo.onlyRepeats(safe, end.final.Text, fin.Notify); err != nil {
			f.observeEvent(Event{Kind: Warning, Text: "whether this only repeats what was said is not known: " + err.Error()})
		}
	}
	if a := end.answer; a != nil {
		fin.Answer, fin.Outcome.Answer = a.Seq, a.Content
	}
	if f.work != nil && end.state == fika.Done {
		var err error
		if fin.Work, err = f.work.HandedIn(safe); err != nil {
			f.observeEvent(Event{Kind: Warning, Text: "what was changed cannot be shown to its reviewer: " + err.Error()})
		}
	}
	if end.state != fika.Done {
		fin.Outcome.Error, fin.Outcome.ErrorKind = end.reason, end.kind
		if end.state == fika.Cancelled {
			fin.Partial = end.partial
		} else if f.inChat() && end.limit == "" {
			fin.Notice = "@" + string(f.claimed.Agent.Name) + " did not answer: " + end.reason
		}
	}
	var done store.Finished
	err := f.retry.persistWrite(safe, func(ctx context.Context) (err error) {
		done, err = f.store.Finish(ctx, f.fence, fin)
		return err
	})
	res := Result{State: end.state, Reason: end.reason, Kind: end.kind, Outcome: fin.Outcome}
	if err != nil {
		res.Unsaved = end.final != nil && end.stop != fika.Silent
		return res, err
	}
	res.Entries, res.Notified, res.Limited = done.Entries, done.Notified, done.Limited
	res.Outcome = done.Request.Outcome
	f.observeEvent(Event{Kind: Committed, Entries: done.Entries, Notified: done.Notified, Round: f.round})
	for _, text := range f.limits.Budgets.Warnings(done.Booked) {
		f.observeEvent(Event{Kind: Warning, Text: text})
	}
	if end.state == fika.Done && end.stop != fika.Silent {
		f.firePostMessage(safe, fin.Outcome.Answer)
	}
	return res, nil
}

// resolveMentions returns the agents that a final text concerns, and a notice about
// those that may not be called.
func (f *finisher) resolveMentions(ctx context.Context, text string) (notify []fika.AgentName, notice string) {
	if f.resolve == nil || !f.inChat() {
		return nil, ""
	}
	names, err := f.resolve(ctx, f.claimed.Conversation, text)
	if err != nil && !errors.Is(err, context.Canceled) {
		f.observeEvent(Event{Kind: Warning, Text: "mentions were not read: " + err.Error()})
	}
	var said []string
	for _, n := range names {
		why := ""
		if f.callable != nil {
			why = f.callable(ctx, n)
		}
		if why == "" {
			notify = append(notify, n)
			continue
		}
		said = append(said, "@"+string(f.claimed.Agent.Name)+" cannot call @"+string(n)+": "+why)
	}
	return notify, strings.Join(said, "\n")
}

func (f *finisher) firePostMessage(ctx context.Context, answer string) {
	prompt := f.briefing.replaced
	if prompt == "" && f.briefing.asked != nil {
		prompt = f.briefing.asked.Content
	}
	_, err := f.hooks.Fire(ctx, hook.PostMessage, hook.Payload{
		"prompt": prompt, "response": answer, "context_name": f.context,
	})
	if err != nil {
		f.observeEvent(Event{Kind: Warning, Text: err.Error()})
	}
}
