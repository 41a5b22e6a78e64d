package service

import (
	"context"
	"encoding/json"
	"sort"
	"strings"
	"sync"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
)

// Typing knows which agents are at work in a chat: the bus says what they do, the store
// which still are. It is safe for concurrent use.
type Typing struct {
	c    *Service
	id   fika.ConversationID
	draw func(string) // shows the line; may be nil

	mu   sync.Mutex
	name fika.ConversationName
	busy map[string]string // agent → what it does
}

// Typing returns a Typing for a chat. draw is called with each new line, from any
// goroutine; it may be nil.
func (s *Chats) Typing(conv fika.Conversation, draw func(string)) *Typing {
	if draw == nil {
		draw = func(string) {}
	}
	return &Typing{c: s.c, id: conv.ID, name: conv.Name, draw: draw, busy: map[string]string{}}
}

// Listen follows the statuses of all agents until the returned function is called.
func (t *Typing) Listen() (func(), error) {
	if err := t.c.mayConversation(context.Background(), "conversation.live", t.id); err != nil {
		return nil, err
	}
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

// Refresh reads from the store which agents have a running turn: it adds those that
// began before Listen, and removes those whose process has vanished.
func (t *Typing) Refresh(ctx context.Context) {
	list, err := t.c.sight().requests(ctx, store.RequestFilter{Conversation: t.id, States: []fika.RequestState{fika.Running}})
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

// Renamed switches to the chat's current name.
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

// Line says who is at work; "" if nobody is.
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
