package client

import (
	"context"
	"encoding/json"
	"sort"
	"strings"
	"sync"

	"fika"
	"fika/internal/bus"
	"fika/internal/message"
	"fika/internal/store"
)

// Typing knows who is at work in a chat: the bus says at what, the store who
// still is. It may be used from many goroutines.
type Typing struct {
	c    *Client
	id   fika.ConversationID
	draw func(string) // shows the line; may be nil

	mu   sync.Mutex
	name fika.ConversationName
	busy map[string]string // agent → what it does
}

// Typing makes one for a chat. draw is called with each new line, from any
// goroutine; nil: nobody is.
func (s *Chats) Typing(conv fika.Conversation, draw func(string)) *Typing {
	if draw == nil {
		draw = func(string) {}
	}
	return &Typing{c: s.c, id: conv.ID, name: conv.Name, draw: draw, busy: map[string]string{}}
}

// Listen follows the statuses of all agents until the function it gives is
// called.
func (t *Typing) Listen() (func(), error) {
	sub, err := t.c.bus.Subscribe(t.c.subjects.Status("*"), t.status)
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Close() }, nil
}

func (t *Typing) status(m bus.Msg) {
	var s message.Status
	if json.Unmarshal(m.Data, &s) != nil {
		return
	}
	t.change(func() {
		if s.ConversationID != string(t.name) {
			return
		}
		switch s.Status {
		case "processing":
			t.busy[s.AgentName] = "is thinking"
		case "streaming":
			t.busy[s.AgentName] = "is writing"
		case "tool_call":
			t.busy[s.AgentName] = "runs " + s.Data.ToolName
		case "completed", "error":
			delete(t.busy, s.AgentName)
		}
	})
}

// Refresh asks the store who has a running turn: those who began before
// anybody listened, and not those whose process has gone without a word.
func (t *Typing) Refresh(ctx context.Context) {
	list, err := t.c.store.ListRequests(ctx, store.RequestFilter{Conversation: t.id, States: []fika.RequestState{fika.Running}})
	if err != nil {
		return
	}
	t.change(func() {
		was := t.busy
		t.busy = map[string]string{}
		for _, r := range list {
			what := was[string(r.AgentName)]
			if what == "" {
				what = "is thinking"
			}
			t.busy[string(r.AgentName)] = what
		}
	})
}

// Renamed goes on with the name that the chat has now.
func (t *Typing) Renamed(conv fika.Conversation) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name = conv.Name
	return nil
}

func (t *Typing) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.words()
	f()
	if line := t.words(); line != before {
		t.draw(line)
	}
}

// Line says who is at work; empty: nobody.
func (t *Typing) Line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.words()
}

func (t *Typing) words() string {
	var parts []string
	for a, what := range t.busy {
		parts = append(parts, "@"+a+" "+what)
	}
	sort.Strings(parts)
	line := strings.Join(parts, " · ")
	if line != "" {
		line += " …"
	}
	return line
}
