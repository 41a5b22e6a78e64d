package main

import (
	"context"
	"fmt"
	"time"

	"fika"
)

const longHistory = 10_000

// history compares a prompt in a conversation of 10,000 entries with one in a
// conversation of 10. A compaction has taken all but the last 10 out of the window, so
// that both models read the same.
func history(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("history", srv.URL(), "")
	if err != nil {
		return nil, err
	}
	for name, n := range map[fika.AgentName]int{"short": 10, "long": longHistory} {
		if _, _, err := h.run(ctx, "run", "-c", string(name), "hi"); err != nil {
			return nil, err
		}
		if err := h.fill(ctx, name, n, 10); err != nil {
			return nil, err
		}
	}
	var long, short series
	for range l.rounds() {
		for _, x := range []struct {
			name string
			s    *series
		}{{"short", &short}, {"long", &long}} {
			_, took, err := h.run(ctx, "run", "-c", x.name, "hi")
			if err != nil {
				return nil, err
			}
			x.s.took(took)
		}
	}
	r := srv.Requests()
	a, b := len(r[len(r)-2].Messages), len(r[len(r)-1].Messages)
	if a != b {
		return nil, fmt.Errorf("the windows differ: %d and %d messages", a, b)
	}
	long.skip(l.warm)
	short.skip(l.warm)
	return []result{compare("one-shot, 10,000 entries", &long, "one-shot, 10 entries, the same window", &short, 1.3)}, nil
}

// fill adds n entries to a context, of which the window keeps the last few; 0: all.
func (h *home) fill(ctx context.Context, name fika.AgentName, n, keep int) error {
	s, err := h.store(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	a, err := s.Agent(ctx, name)
	if err != nil {
		return err
	}
	conv, err := s.ActiveAsk(ctx, a.ID)
	if err != nil {
		return err
	}
	entries := make([]fika.Entry, n)
	for i := range entries {
		from, to := "user", string(name)
		if i%2 == 1 {
			from, to = to, from
		}
		back := n - i // the last ten are the same words in both
		entries[i] = fika.Entry{
			ID: fika.EntryID(fmt.Sprintf("%s-%d", name, i)), At: time.Now(), From: from, To: to, Type: fika.Message,
			Content: fmt.Sprintf("entry %d from the end: a sentence or two, as people write them when they explain something.", back),
		}
	}
	if _, err := s.Import(ctx, conv.ID, entries); err != nil {
		return err
	}
	if err := s.IndexWords(ctx, 0); err != nil || keep == 0 {
		return err
	}
	if conv, err = s.ActiveAsk(ctx, a.ID); err != nil {
		return err
	}
	_, err = s.AppendCompaction(ctx, conv.ID, string(name), "earlier entries", fika.EntryMeta{UpTo: conv.LastSeq - int64(keep)})
	return err
}
