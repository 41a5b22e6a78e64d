package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"fika"
	"fika/internal/app"
)

const (
	// holdFor is how long a chat stays held by somebody who is not heard of.
	holdFor = 15 * time.Second
	// holdAgain is how often whoever holds a chat says so again.
	holdAgain = 5 * time.Second
)

// hold is a chat that is paused for as long as this process says so. A nil
// hold holds nothing. It may be used from many goroutines.
type hold struct {
	client *app.Client
	conv   fika.Conversation
	owner  string
	first  bool // it was not paused before

	mu   sync.Mutex
	said time.Time // zero: it is over
}

func holdChat(ctx context.Context, c *app.Client, conv fika.Conversation, who string) (*hold, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	h := &hold{client: c, conv: conv, owner: fmt.Sprintf("%s (pid %d on %s)", who, os.Getpid(), host), said: time.Now()}
	h.first, err = c.Store.Hold(ctx, conv.ID, h.owner, holdFor)
	return h, err
}

// keep says so again when it is time to. An error is returned once: then the
// hold is over.
func (h *hold) keep(ctx context.Context) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said.IsZero() || time.Since(h.said) < holdAgain {
		return nil
	}
	err := h.client.Store.KeepHold(ctx, h.conv.ID, h.owner, holdFor)
	switch {
	case err == nil:
		h.said = time.Now()
	case fika.IsKind(err, fika.Lost):
		h.said = time.Time{}
		return err
	}
	return nil // the store is busy, or the person leaves: the next look tries again
}

// over says that the chat was resumed on purpose.
func (h *hold) over() {
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.said = time.Time{}
	}
}

// letGo ends the hold and reports whether the chat goes on because of it.
func (h *hold) letGo() (resumed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said.IsZero() {
		return false, nil
	}
	h.said = time.Time{}
	ctx, cancel := context.WithTimeout(context.Background(), holdFor) // the command's own context may have ended
	defer cancel()
	ring, err := h.client.Store.LetGo(ctx, h.conv.ID, h.owner)
	if err != nil {
		return false, err
	}
	h.client.Ring(ring...)
	_ = h.client.Bus.Flush(ctx)
	c, err := h.client.Store.ConversationByID(ctx, h.conv.ID)
	return !c.Paused, err
}
