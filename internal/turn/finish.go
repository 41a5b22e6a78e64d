package turn

import (
	"context"
	"errors"
	"strings"

	"fika"
	"fika/internal/hook"
	"fika/internal/store"
)

// finish commits the outcome: final entry, notifications and state in one
// transaction. What was answered is not thrown away when the store refuses:
// the Result then says Unsaved.
func (w *attempt) finish(ctx context.Context, end *ending) (Result, error) {
	safe := context.WithoutCancel(ctx)
	f := store.Finish{State: end.state, Reason: end.reason, Final: end.final, Limits: w.cfg.Limits, TTL: w.cfg.TTL, Limit: end.limit, ErrorKind: end.kind, Rejected: end.rejected}
	f.Outcome = fika.Outcome{ToolCalls: w.used, Usage: w.usage, Model: w.cfg.ModelID, Taint: w.taint.From}
	f.Rights = w.passed()
	if end.final != nil {
		f.Outcome.Answer = end.final.Text
		f.Notify, f.Notice = w.mentioned(safe, end.final.Text)
		var err error
		if f.Echo, err = w.echoes(safe, end.final.Text, f.Notify); err != nil {
			w.tell(Event{Kind: Warning, Text: "whether this only repeats what was said is not known: " + err.Error()})
		}
	}
	if end.state != fika.Done {
		f.Outcome.Error, f.Outcome.ErrorKind = end.reason, end.kind
		if w.claimed.Conversation.Kind == fika.Chat && end.state != fika.Cancelled && end.limit == "" {
			f.Notice = "@" + string(w.claimed.Agent.Name) + " did not answer: " + end.reason
		}
	}
	var done store.Finished
	err := w.persist(safe, func(ctx context.Context) (err error) {
		done, err = w.cfg.Store.Finish(ctx, w.fence, f)
		return err
	})
	res := Result{State: end.state, Reason: end.reason, Kind: end.kind, Outcome: f.Outcome}
	if err != nil {
		res.Unsaved = end.final != nil
		return res, err
	}
	res.Entries, res.Notified, res.Limited = done.Entries, done.Notified, done.Limited
	res.Outcome = done.Request.Outcome
	w.tell(Event{Kind: Committed, Entries: done.Entries, Notified: done.Notified, Round: w.round})
	if end.state == fika.Done {
		w.postMessage(safe, end.final.Text)
	}
	return res, nil
}

// mentioned are the agents that a final text concerns, and what is to be said of
// those that may not be called.
func (w *attempt) mentioned(ctx context.Context, text string) (notify []fika.AgentName, notice string) {
	if w.cfg.Mentioned == nil || w.claimed.Conversation.Kind != fika.Chat {
		return nil, ""
	}
	names, err := w.cfg.Mentioned(ctx, w.claimed.Conversation, text)
	if err != nil && !errors.Is(err, context.Canceled) {
		w.tell(Event{Kind: Warning, Text: "mentions were not read: " + err.Error()})
	}
	var said []string
	for _, n := range names {
		why := ""
		if w.cfg.Callable != nil {
			why = w.cfg.Callable(n)
		}
		if why == "" {
			notify = append(notify, n)
			continue
		}
		said = append(said, "@"+string(w.claimed.Agent.Name)+" cannot call @"+string(n)+": "+why)
	}
	return notify, strings.Join(said, "\n")
}

func (w *attempt) postMessage(ctx context.Context, answer string) {
	prompt := w.prompt
	if prompt == "" && w.asked != nil {
		prompt = w.asked.Content
	}
	_, err := w.cfg.Hooks.Fire(ctx, hook.PostMessage, hook.Payload{
		"prompt": prompt, "response": answer, "context_name": w.cfg.Call.Context,
	})
	if err != nil {
		w.tell(Event{Kind: Warning, Text: err.Error()})
	}
}
