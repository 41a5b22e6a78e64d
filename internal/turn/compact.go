package turn

import (
	"context"
	"fmt"

	"fika"
)

// compact looks at the size of what is about to be sent: it warns, and where it
// may, it compacts, once in a turn, as history does not grow meanwhile. The
// answer is true when the window has to be read again. The prompt is answered
// whatever happens here: the window falls back to what fits.
func (w *attempt) compact(ctx context.Context, entries []fika.Entry) (bool, error) {
	size := w.measure(entries)
	if w.cfg.Compactor == nil || w.claimed.Conversation.Kind != fika.Ask ||
		(size.percent() < w.cfg.CompactAt && w.omitted == 0) {
		w.warnFull(size)
		return false, nil
	}
	if w.compacted {
		w.warnFull(size)
		return false, nil
	}
	w.compacted = true
	decided, err := w.cfg.Compactor.Compact(ctx, w.claimed, w.room(size, entries))
	if err != nil {
		w.tell(Event{Kind: Warning, Text: "not compacted: " + err.Error()})
		return true, nil
	}
	if decided == nil {
		w.tell(Event{Kind: Warning, Text: fmt.Sprintf("the window is %s, and there is nothing left to compact", size)})
		return true, nil
	}
	return true, w.commitCompaction(ctx, decided)
}

func (w *attempt) commitCompaction(ctx context.Context, decided *Compacting) error {
	var entry fika.Entry
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		entry, err = w.cfg.Store.CommitCompaction(ctx, w.fence, w.round, decided.Content, decided.Meta, decided.Usage, decided.Model)
		return err
	})
	if err != nil {
		return err
	}
	w.usage = w.usage.Add(decided.Usage)
	w.lastIn = 0
	w.own = append(w.own, entry)
	if decided.Done != nil {
		if err := decided.Done(ctx); err != nil {
			w.tell(Event{Kind: Warning, Text: err.Error()})
		}
	}
	if w.system, w.state, err = w.cfg.Prompt.System(ctx, w.claimed); err != nil {
		return failed(err)
	}
	w.tell(Event{Kind: Compacted, Entries: []fika.Entry{entry}, Text: decided.Meta.Summary})
	return nil
}

func (w *attempt) warnFull(s size) {
	if w.cfg.WarnAt > 0 && s.percent() >= w.cfg.WarnAt && !w.warned {
		w.warned = true
		w.tell(Event{Kind: Warning, Text: "the window is " + s.String()})
	}
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

// measure takes what the provider counted last, if the window has only grown
// since then, and estimates the rest.
func (w *attempt) measure(entries []fika.Entry) size {
	s := size{window: w.cfg.Window}
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		if u := e.Meta.Usage; u != nil && e.Type != fika.Compaction && e.Seq > w.compaction && w.wrote(e) && u.Input+u.Output > 0 {
			s.counted = true
			s.tokens += u.Input + u.Output
			break
		}
		s.tokens += EstimateEntry(e)
	}
	if s.counted && w.lastIn == 0 {
		return s
	}
	if w.lastIn > 0 {
		return w.sinceLast(entries)
	}
	s.tokens += w.fixed()
	return s
}

// wrote reports whether the entry came of a model call of this agent.
func (w *attempt) wrote(e fika.Entry) bool {
	return w.claimed.Conversation.Kind != fika.Chat || e.Meta.WriterName == string(w.claimed.Agent.Name)
}

// sinceLast adds the results of the last round to what the provider counted.
func (w *attempt) sinceLast(entries []fika.Entry) size {
	s := size{window: w.cfg.Window, counted: true, tokens: w.lastIn}
	for i := len(entries) - 1; i >= 0 && entries[i].Type == fika.ToolResult; i-- {
		s.tokens += EstimateEntry(entries[i])
	}
	return s
}

// fixed estimates what every call of this turn costs before any entry.
func (w *attempt) fixed() int64 {
	n := Estimate(w.system) + Estimate(w.state)
	for _, t := range w.offer() {
		n += Estimate(t.Description) + Estimate(string(t.Parameters)) + 8
	}
	return n
}

// room is what history may cost, in estimated tokens, so that the call stays
// below the threshold. Where the provider counts otherwise than the estimate,
// its count is believed.
func (w *attempt) room(s size, shown []fika.Entry) int64 {
	room := int64(w.cfg.CompactAt / 100 * float64(w.cfg.Window))
	if estimated := w.estimated(shown); s.counted && s.tokens > estimated && estimated > 0 {
		room = int64(float64(room) * float64(estimated) / float64(s.tokens))
	}
	room -= w.fixed()
	for _, e := range w.own {
		room -= EstimateEntry(e)
	}
	return room
}

func (w *attempt) estimated(shown []fika.Entry) int64 {
	n := w.fixed()
	for _, e := range shown {
		n += EstimateEntry(e)
	}
	return n
}
