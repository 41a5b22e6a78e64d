package hub

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"fika/internal/bus"
	"fika/internal/store"
)

// wordBatches bounds how much text is indexed for search per Tick, and it is indexed no
// more often, so that indexing does not delay the writers.
const wordBatches = 4

// pruneBatches bounds how many events are removed each time that something is cleaned.
const pruneBatches = 50

// caretaker does the work that nobody else does: on what has lapsed, expired or grown
// old.
type caretaker struct {
	store    Care
	bus      bus.Bus
	subjects bus.Subjects
	outputs  func(context.Context)
	log      *slog.Logger
	sharing  Sharing
}

// expireDue ends the requests whose deadline has passed.
func (c *caretaker) expireDue(ctx context.Context) {
	if !c.sharing.Holds(DutyCare) {
		return
	}
	if ids, err := c.store.Expire(ctx); err != nil {
		c.log.Warn("expire", "err", err)
	} else if len(ids) > 0 {
		c.log.Info("deadlines passed", "requests", ids)
	}
}

// indexWords indexes entries for search.
func (c *caretaker) indexWords(ctx context.Context) {
	if !c.sharing.Holds(DutyCare) {
		return
	}
	if err := c.store.IndexWords(ctx, wordBatches); err != nil {
		c.log.Warn("index words", "err", err)
	}
}

// resumeLapsed resumes chats whose pause was held by a process that has vanished.
func (c *caretaker) resumeLapsed(ctx context.Context) {
	if !c.sharing.Holds(DutyCare) {
		return
	}
	lifted, err := c.store.ResumeLapsed(ctx)
	if err != nil {
		c.log.Warn("lift brakes", "err", err)
	}
	for _, l := range lifted {
		c.log.Info("brake lifted", "chat", l.Conversation.Name, "owner", l.Owner)
		if data, err := json.Marshal(l.Notice); err == nil {
			_ = c.bus.Publish(c.subjects.Chat(l.Conversation.Name), data)
		}
		for _, a := range l.Woken {
			_ = c.bus.Publish(c.subjects.Bell(a), nil)
		}
	}
}

// cleanUp removes what has expired: files of this home, and rows.
func (c *caretaker) cleanUp(ctx context.Context) {
	if c.outputs != nil {
		c.outputs(ctx)
	}
	if !c.sharing.Holds(DutyCleaning) {
		return
	}
	if err := c.store.Prune(ctx, pruneBatches); err != nil {
		c.log.Warn("prune events", "err", err)
	}
	r, err := c.store.Cleanup(ctx, store.CleanupOptions{EmptyAge: 24 * time.Hour})
	switch {
	case err != nil:
		c.log.Warn("cleanup", "err", err)
	case r.Expired > 0 || len(r.Chats) > 0:
		c.log.Info("cleaned", "expired", r.Expired, "empty_chats", r.Chats)
	}
}
