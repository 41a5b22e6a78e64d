package turn

import (
	"context"

	"fika"
	"fika/internal/hook"
)

// loadSteps brings back what earlier attempts of the request committed.
func (w *attempt) loadSteps(ctx context.Context) error {
	w.records = make(map[fika.EntryID]record)
	w.recalled = make(map[fika.EntryID]bool)
	if !w.claimed.Resumed {
		if w.claimed.Prompt != nil {
			w.own = append(w.own, *w.claimed.Prompt)
		}
		w.taintOfOwn()
		return nil
	}
	var steps []fika.Step
	err := w.read(ctx, func(ctx context.Context) (err error) {
		if steps, err = w.cfg.Store.Steps(ctx, w.fence.Request); err == nil {
			w.own, err = w.cfg.Store.OfRequest(ctx, w.fence.Request)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range steps {
		w.round = max(w.round, s.Round)
		switch s.Kind {
		case fika.ModelStep:
			w.records[s.Entry] = readRecord(s.Blob)
		case fika.ToolStep:
			if s.State == fika.StepPlanned || s.State == fika.StepStarted {
				w.pending = append(w.pending, s)
			}
			if s.ArgsHash == cutOff {
				w.cutStep = s.N
			}
		}
	}
	for _, e := range w.own {
		if e.Type == fika.ToolResult {
			w.used = append(w.used, fika.ToolUsed{Tool: e.From, Success: !e.Meta.IsError})
		}
		if e.Meta.Usage != nil {
			w.usage = w.usage.Add(*e.Meta.Usage)
		}
	}
	w.taintOfOwn()
	return w.loadApprovals(ctx)
}

// preparePrompt builds the system prompt and lets hooks see the prompt.
func (w *attempt) preparePrompt(ctx context.Context) error {
	if err := w.preMessage(ctx); err != nil {
		return w.failTurn(ctx, err)
	}
	var err error
	if w.system, w.state, err = w.cfg.Prompt.System(ctx, w.claimed); err != nil {
		return w.failTurn(ctx, err)
	}
	return nil
}

// preMessage lets hooks see and replace what the turn answers: its prompt, or
// the newest of the messages that it was told of. The prompt of a foreground
// run was shown to them before it was stored.
func (w *attempt) preMessage(ctx context.Context) error {
	w.asked = w.claimed.Prompt
	if w.claimed.Request.Kind == fika.NotifyRequest {
		err := w.read(ctx, func(ctx context.Context) (err error) {
			w.asked, err = w.newestOfOthers(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	if w.asked == nil || w.claimed.Request.Origin == fika.Foreground {
		return nil
	}
	summary := ""
	if w.cfg.Summary != nil {
		var err error
		if summary, err = w.cfg.Summary(ctx); err != nil {
			return err
		}
	}
	out, err := w.cfg.Hooks.Fire(ctx, hook.PreMessage, hook.Payload{
		"prompt": w.asked.Content, "context_name": w.cfg.Call.Context, "summary": summary,
	})
	if err != nil {
		return err
	}
	if s, ok := out["prompt"].(string); ok && s != w.asked.Content {
		w.prompt = s
	}
	return nil
}

// newestOfOthers is the newest message before this turn that is not the
// agent's own.
func (w *attempt) newestOfOthers(ctx context.Context) (*fika.Entry, error) {
	for _, size := range []int{2, firstPage} { // mostly it is the newest of all
		page, err := w.cfg.Store.Before(ctx, w.claimed.Conversation.ID, w.claimed.Request.UptoSeq, size)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if page[i].Type == fika.Message && page[i].Meta.WriterName != string(w.claimed.Agent.Name) {
				return &page[i], nil
			}
		}
	}
	return nil, nil
}
