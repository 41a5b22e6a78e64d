package turn

import (
	"context"
	"encoding/json"

	"fika"
	"fika/internal/hook"
)

// load brings back what earlier attempts of the request committed.
func (w *work) load(ctx context.Context) error {
	w.blobs = make(map[fika.EntryID]json.RawMessage)
	if !w.claimed.Resumed {
		if w.claimed.Prompt != nil {
			w.own = append(w.own, *w.claimed.Prompt)
		}
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
			w.blobs[s.Entry] = s.Blob
		case fika.ToolStep:
			if s.State == fika.StepPlanned || s.State == fika.StepStarted {
				w.queue = append(w.queue, s)
			}
			if s.ArgsHash == cutOff {
				w.cut = s.N
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
	return nil
}

// begin builds the system prompt and lets hooks see the prompt.
func (w *work) begin(ctx context.Context) (*Result, error) {
	if p := w.claimed.Prompt; p != nil && w.claimed.Request.Origin != fika.Foreground {
		out, err := w.cfg.Hooks.Fire(ctx, hook.PreMessage, hook.Payload{
			"prompt": p.Content, "context_name": w.cfg.Call.Context, "summary": "",
		})
		if err != nil {
			return w.gaveUp(ctx, err)
		}
		if s, ok := out["prompt"].(string); ok && s != p.Content {
			w.prompt = s
		}
	}
	system, err := w.cfg.Prompt.System(ctx, w.claimed)
	if err != nil {
		return w.gaveUp(ctx, err)
	}
	w.system = system
	return nil, nil
}
