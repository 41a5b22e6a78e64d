package service

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/chat"
)

// lookAgain is how often a wait for a chat reads the store when nothing wakes it.
const lookAgain = 2 * time.Second

// AwaitIdle waits until nothing runs or waits in a chat. It returns the work that
// failed and can be tried again, and the work that was dropped meanwhile. stuck is
// called with the items that only a person can release, once for each such state. If
// ctx ends first, AwaitIdle returns ctx's error and the remaining items. No hub is
// needed.
func (s *Chats) AwaitIdle(ctx context.Context, conv fika.Conversation, stuck func([]QueueItem)) ([]QueueItem, error) {
	woken := make(chan struct{}, 1) // one look answers any number of wake-ups
	wake := func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	close, err := s.onChange(conv, wake)
	if err != nil {
		return nil, err
	}
	defer close()
	poll := time.NewTicker(lookAgain)
	defer poll.Stop()
	var before map[string]bool
	told := ""
	for {
		items, err := outlasting(ctx, s.c, nil, func(ctx context.Context) ([]QueueItem, error) { return s.Queue(ctx, conv.ID) })
		if ctx.Err() != nil {
			return items, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if before == nil {
			before = over(items)
		}
		idle, waits := chat.IsIdle(items)
		if idle {
			return since(items, before), nil
		}
		if what := fmt.Sprint(waits); len(waits) > 0 && what != told {
			told = what
			stuck(waits)
		}
		select {
		case <-ctx.Done():
			return items, ctx.Err()
		case <-woken:
		case <-poll.C:
		}
	}
}

// onChange calls wake when an entry is stored in a chat and when a turn in it has
// ended.
func (s *Chats) onChange(conv fika.Conversation, wake func()) (func(), error) {
	c := s.c
	entries, err := c.bus.Subscribe(c.subjects.Chat(conv.Name), func(bus.Msg) { wake() })
	if err != nil {
		return nil, err
	}
	ends, err := c.bus.Subscribe(c.subjects.Status("*"), func(m bus.Msg) {
		var st message.Status
		if json.Unmarshal(m.Data, &st) == nil && st.ConversationID == string(conv.Name) && (st.Status == "completed" || st.Status == "error") {
			wake()
		}
	})
	if err != nil {
		_ = entries.Close()
		return nil, err
	}
	return func() { _ = entries.Close(); _ = ends.Close() }, nil
}

// over returns the keys of the items that were dropped.
func over(items []QueueItem) map[string]bool {
	known := map[string]bool{}
	for _, i := range items {
		for _, seq := range i.Seqs {
			if i.Place == chat.PlaceDropped {
				known[overKey(i, seq)] = true
			}
		}
	}
	return known
}

func overKey(i chat.Item, seq int64) string { return fmt.Sprint(i.Agent, " ", i.Request, " ", seq) }

// since keeps the items that are over and new: those that a person may take up again,
// and those that were otherwise dropped and are not in known.
func since(items []QueueItem, known map[string]bool) []QueueItem {
	var out []QueueItem
	for _, i := range items {
		var fresh []int64
		for _, seq := range i.Seqs {
			if i.Place == chat.PlaceDead || i.Status.Code == api.DroppedLimit || !known[overKey(i, seq)] {
				fresh = append(fresh, seq)
			}
		}
		if len(fresh) > 0 && i.IsOver() {
			i.Seqs = fresh
			out = append(out, i)
		}
	}
	return out
}
