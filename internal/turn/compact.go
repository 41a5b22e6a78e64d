package turn

import (
	"context"
	"fmt"

	"fika"
)

// compact looks at the size of the window: it warns, and where it may, it
// compacts. The answer is true when the window has to be read again.
func (w *work) compact(ctx context.Context, entries []fika.Entry) (bool, error) {
	tokens := w.lastIn
	if tokens == 0 {
		tokens = Estimate(w.system)
		for _, e := range entries {
			tokens += EstimateEntry(e)
		}
	}
	percent := 100 * float64(tokens) / float64(w.cfg.Window)
	if w.cfg.Compactor == nil || percent < w.cfg.CompactAt || w.claimed.Conversation.Kind != fika.Ask {
		if w.cfg.WarnAt > 0 && percent >= w.cfg.WarnAt && !w.warned {
			w.warned = true
			w.tell(Event{Kind: Warning, Text: fmt.Sprintf("the window is %.0f %% full (%d of %d tokens)", percent, tokens, w.cfg.Window)})
		}
		return false, nil
	}
	decided, err := w.cfg.Compactor.Compact(ctx, w.claimed, entries[:len(entries)-len(w.own)])
	if err != nil {
		// The prompt is answered all the same: the window falls back to what fits.
		w.tell(Event{Kind: Warning, Text: "not compacted: " + err.Error()})
		return false, nil
	}
	if decided == nil {
		return false, nil
	}
	var entry fika.Entry
	err = w.persist(ctx, func(ctx context.Context) (err error) {
		entry, err = w.cfg.Store.CommitCompaction(ctx, w.fence, w.round, decided.Content, decided.Meta, decided.Usage, decided.Model)
		return err
	})
	if err != nil {
		return false, err
	}
	w.usage = w.usage.Add(decided.Usage)
	w.lastIn = 0
	if decided.Done != nil {
		if err := decided.Done(ctx); err != nil {
			w.tell(Event{Kind: Warning, Text: err.Error()})
		}
	}
	if w.system, err = w.cfg.Prompt.System(ctx, w.claimed); err != nil {
		return false, failed(err)
	}
	w.tell(Event{Kind: Compacted, Entries: []fika.Entry{entry}, Text: decided.Meta.Summary})
	return true, nil
}
