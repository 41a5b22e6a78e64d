package turn

import (
	"context"
	"fmt"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
)

const (
	// fullPrompt is the percentage of the window above which a conversation and the order to
	// summarise it, with the summary, do not fit together.
	fullPrompt = 88
	// maxFailed is how often in a turn a compaction may fail.
	maxFailed = 2
)

// sizing checks how full the window is before each call, and warns or has the
// conversation compacted.
type sizing struct {
	*assignment
	*progress
	briefing  *briefing
	window    *window
	signals   *signals
	store     Steps
	compactor Compactor // nil: never
	compactAt float64
	warnAt    float64
	failed    int   // compactions that failed in this turn
	fresh     bool  // nothing was sent since the last compaction
	after     int64 // tokens that the window had after it; 0: there was none in this turn
}

// asking asks the model with all that it would be sent next, and an instruction.
type asking func(ctx context.Context, instruction string) (llm.Response, error)

// makeRoom checks the size of what is about to be sent. It warns or, where it may, compacts.
// It reports whether the window has to be read again. The prompt is answered whatever
// happens here, because the window falls back to what fits.
func (z *sizing) makeRoom(ctx context.Context, entries []fika.Entry, ask asking) (bool, error) {
	size := z.measureWindow(entries)
	if z.fresh {
		z.fresh, z.after = false, size.tokens
	}
	grown := z.after == 0 || size.tokens >= z.after+z.window.size()/8 // else another one would bring nothing either
	if z.compactor == nil || z.failed > 0 || !grown || size.percent() < z.compactAt && z.window.omitted == 0 {
		z.warnFull(size)
		again := !z.window.final && (z.window.omitted > 0 || size.percent() > 100*(1-reserve))
		z.window.final = true
		return again, nil
	}
	if size.percent() > fullPrompt || z.window.omitted > 0 {
		ask = nil
	}
	return true, z.compact(ctx, size, entries, ask)
}

// afterRefusal makes the window smaller than what a provider has refused as too long.
func (z *sizing) afterRefusal(ctx context.Context, entries []fika.Entry) error {
	z.window.refused = z.window.estimateCall(entries)
	z.lastIn = 0
	if z.compactor == nil || z.failed >= maxFailed {
		z.window.final = true
		return nil
	}
	return z.compact(ctx, size{tokens: z.window.refused, window: z.window.size()}, entries, nil)
}

// compact has the conversation compacted and commits that. That a compaction fails is no
// error: the window then goes without its oldest part.
func (z *sizing) compact(ctx context.Context, s size, entries []fika.Entry, ask asking) error {
	z.window.final = true
	decided, err := z.compactor.Compact(ctx, Full{Claimed: z.claimed, Room: z.compactionRoom(s, entries), Ask: ask})
	switch {
	case err != nil:
		z.failed++
		z.observeEvent(Event{Kind: Warning, Text: "not compacted: " + err.Error()})
		if decided == nil {
			return nil
		}
		return z.signals.spend(ctx, store.Spent{Round: z.round, Kind: fika.CompactionStep, Model: decided.Model, Why: "compaction: " + err.Error(), Usage: decided.Usage})
	case decided == nil:
		z.failed++
		z.observeEvent(Event{Kind: Warning, Text: fmt.Sprintf("the window is %s, and there is nothing left to compact", s)})
		return nil
	}
	if err := z.commitCompaction(ctx, decided); err != nil {
		return err
	}
	z.fresh = true
	return nil
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
	s := size{window: z.window.size()}
	if z.window.refused > 0 { // in the same measure as what was refused
		s.tokens = z.window.estimateCall(entries)
		return s
	}
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
	s := size{window: z.window.size(), counted: true, tokens: z.lastIn}
	for i := len(entries) - 1; i >= 0 && entries[i].Type == fika.ToolResult; i-- {
		s.tokens += EstimateEntry(entries[i])
	}
	return s
}

// compactionRoom returns what the conversation may cost, in estimated tokens, so that the
// call takes half of what is allowed: the room gained has to last for a while. Where the
// provider counts more than the estimate, its count is used.
func (z *sizing) compactionRoom(s size, shown []fika.Entry) int64 {
	room := int64(z.compactAt / 200 * float64(z.window.size()))
	if estimated := z.window.estimateCall(shown); s.counted && s.tokens > estimated && estimated > 0 {
		room = int64(float64(room) * float64(estimated) / float64(s.tokens))
	}
	return room - z.window.fixedCost()
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
