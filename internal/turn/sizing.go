package turn

import (
	"context"
	"fmt"

	"fika"
)

// sizing checks how full the window is before each call, and warns or has the
// conversation compacted.
type sizing struct {
	*assignment
	*progress
	briefing  *briefing
	window    *window
	store     Steps
	compactor Compactor
	compactAt float64
	warnAt    float64
	tried     bool // a compaction, in this turn
}

// compactOnce checks the size of what is about to be sent. It warns or, where it may,
// compacts, at most once in a turn, as history does not grow meanwhile. It reports
// whether the window has to be read again. The prompt is answered whatever happens here,
// because the window falls back to what fits.
func (z *sizing) compactOnce(ctx context.Context, entries []fika.Entry) (bool, error) {
	size := z.measureWindow(entries)
	if z.compactor == nil || z.claimed.Conversation.Kind != fika.Ask ||
		(size.percent() < z.compactAt && z.window.omitted == 0) {
		z.warnFull(size)
		return false, nil
	}
	if z.tried {
		z.warnFull(size)
		return false, nil
	}
	z.tried, z.window.final = true, true
	decided, err := z.compactor.Compact(ctx, z.claimed, z.compactionRoom(size, entries))
	if err != nil {
		z.observeEvent(Event{Kind: Warning, Text: "not compacted: " + err.Error()})
		return true, nil
	}
	if decided == nil {
		z.observeEvent(Event{Kind: Warning, Text: fmt.Sprintf("the window is %s, and there is nothing left to compact", size)})
		return true, nil
	}
	return true, z.commitCompaction(ctx, decided)
}

func (z *sizing) commitCompaction(ctx context.Context, decided *Compacting) error {
	var entry fika.Entry
	err := z.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		entry, err = z.store.CommitCompaction(ctx, z.fence, z.round, decided.Content, decided.Meta, decided.Usage, decided.Model)
		return err
	})
	if err != nil {
		return err
	}
	z.usage = z.usage.Add(decided.Usage)
	z.lastIn = 0
	z.own = append(z.own, entry)
	if decided.Done != nil {
		if err := decided.Done(ctx); err != nil {
			z.observeEvent(Event{Kind: Warning, Text: err.Error()})
		}
	}
	if err := z.briefing.buildPrompt(ctx); err != nil {
		return failedEnding(err)
	}
	z.observeEvent(Event{Kind: Compacted, Entries: []fika.Entry{entry}, Text: decided.Meta.Summary})
	return nil
}

func (z *sizing) warnFull(s size) {
	if z.warnAt > 0 && s.percent() >= z.warnAt && !z.window.warned {
		z.window.warned = true
		z.observeEvent(Event{Kind: Warning, Text: "the window is " + s.String()})
	}
}

// measureWindow takes the provider's last count, if the window has only grown since
// then, and estimates the rest.
func (z *sizing) measureWindow(entries []fika.Entry) size {
	s := size{window: z.window.tokens}
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		if u := e.Meta.Usage; u != nil && e.Type != fika.Compaction && e.Seq > z.window.compactedAt() && z.cameOfCall(e) && u.Input+u.Output > 0 {
			s.counted = true
			s.tokens += u.Input + u.Output
			break
		}
		s.tokens += EstimateEntry(e)
	}
	if s.counted && z.lastIn == 0 {
		return s
	}
	if z.lastIn > 0 {
		return z.sinceLast(entries)
	}
	s.tokens += z.window.fixedCost()
	return s
}

// cameOfCall reports whether a model call of this agent produced the entry.
func (z *sizing) cameOfCall(e fika.Entry) bool {
	return !z.inChat() || e.Meta.WriterName == string(z.claimed.Agent.Name)
}

// sinceLast adds the estimated results of the last round to the provider's count.
func (z *sizing) sinceLast(entries []fika.Entry) size {
	s := size{window: z.window.tokens, counted: true, tokens: z.lastIn}
	for i := len(entries) - 1; i >= 0 && entries[i].Type == fika.ToolResult; i-- {
		s.tokens += EstimateEntry(entries[i])
	}
	return s
}

// compactionRoom returns what history may cost, in estimated tokens, so that the call
// stays below the threshold. Where the provider counts more than the estimate, its count
// is used.
func (z *sizing) compactionRoom(s size, shown []fika.Entry) int64 {
	room := int64(z.compactAt / 100 * float64(z.window.tokens))
	if estimated := z.window.estimateCall(shown); s.counted && s.tokens > estimated && estimated > 0 {
		room = int64(float64(room) * float64(estimated) / float64(s.tokens))
	}
	room -= z.window.fixedCost()
	for _, e := range z.own {
		room -= EstimateEntry(e)
	}
	return room
}

// size is how much of the model's window a call takes.
type size struct {
	tokens, window int64
	counted        bool // by the provider, else estimated
}

func (s size) percent() float64 { return 100 * float64(s.tokens) / float64(s.window) }

func (s size) String() string {
	how := ""
	if !s.counted {
		how = ", estimated"
	}
	return fmt.Sprintf("%.0f %% full (%d of %d tokens%s)", s.percent(), s.tokens, s.window, how)
}
