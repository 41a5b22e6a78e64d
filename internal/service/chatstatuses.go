package service

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
)

// statusGate passes the statuses of turns on, in order, one at a time. The first ones of a
// turn wait until the store has been read once more: what is said must not be shown before
// what it answers. A nil *statusGate has nothing to pass on.
type statusGate struct {
	show func(message.Status)
	read func() // asks for a reading of the store; it does not block

	mu     sync.Mutex
	opened map[string]bool // turns whose statuses do not wait
	held   []message.Status
}

// pass shows a status, or keeps it until its turn is opened.
func (g *statusGate) pass(st message.Status) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened[st.RequestID] {
		g.show(st)
		return
	}
	g.held = append(g.held, st)
	g.read()
}

// waiting returns the turns whose statuses wait.
func (g *statusGate) waiting() []string {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var turns []string
	for _, st := range g.held {
		turns = append(turns, st.RequestID)
	}
	return turns
}

// open shows what waits of some turns, and lets pass what comes of them.
func (g *statusGate) open(turns ...string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range turns {
		g.opened[id] = true
	}
	still := g.held[:0]
	for _, st := range g.held {
		if g.opened[st.RequestID] {
			g.show(st)
		} else {
			still = append(still, st)
		}
	}
	g.held = still
}

// ShowStatuses makes the watch also pass the statuses that agents publish about their
// turns to show, in order, one at a time, and none of a turn before the entries that were
// there when it began. It begins with what turns at work have said before. Call it before
// [ChatWatch.Run]. What show misses is in the store.
func (w *ChatWatch) ShowStatuses(ctx context.Context, conv fika.Conversation, show func(message.Status)) error {
	if err := w.c.mayConversation(ctx, "conversation.live", conv.ID); err != nil {
		return err
	}
	w.statuses = &statusGate{show: show, read: w.wake, opened: map[string]bool{}}
	if err := w.listenToTurns(conv.Name); err != nil {
		return err
	}
	said, err := w.c.Chats.SoFar(ctx, conv)
	if err != nil {
		return nil // it comes with the answer
	}
	for _, st := range said {
		w.statuses.pass(st)
	}
	return nil
}

// listenToTurns subscribes to the statuses of a chat by its name.
func (w *ChatWatch) listenToTurns(name fika.ConversationName) (err error) {
	w.turns, err = w.c.bus.Subscribe(w.c.subjects.Status("*"), func(m bus.Msg) {
		var st message.Status
		if json.Unmarshal(m.Data, &st) == nil && st.ConversationID == string(name) {
			w.statuses.pass(st)
		}
	})
	return err
}

// Running returns the agents that work on requests of a chat, by request id.
func (s *Chats) Running(ctx context.Context, conv fika.Conversation) (map[string]string, error) {
	list, err := s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, States: []fika.RequestState{fika.Running}})
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(list))
	for _, r := range list {
		names[string(r.ID)] = string(r.AgentName)
	}
	return names, nil
}

// UnderWay returns the turns of a chat that have begun and not ended: those at work, and
// those that wait, such as for an approval.
func (s *Chats) UnderWay(ctx context.Context, conv fika.Conversation) ([]RequestInfo, error) {
	list, err := s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, States: []fika.RequestState{fika.Running, fika.Waiting}})
	return slices.DeleteFunc(list, func(r RequestInfo) bool { return r.Kind == fika.WorkflowRequest }), err
}

// SoFar returns what the turns at work in a chat have said of the answers that they are
// writing, as statuses that may have been published before. It leaves out those whose agent does not say.
func (s *Chats) SoFar(ctx context.Context, conv fika.Conversation) ([]message.Status, error) {
	list, err := s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, States: []fika.RequestState{fika.Running}})
	if err != nil {
		return nil, err
	}
	var out []message.Status
	for _, r := range list {
		if now, ok := s.c.streamed(ctx, r); ok {
			out = append(out, message.Status{
				RequestID: string(r.ID), AgentName: string(r.AgentName), Status: "streaming", ConversationID: string(conv.Name),
				Data: message.StatusData{Chunk: now.Text, Step: now.Round, Round: now.Round, Offset: now.Offset, Epoch: now.Epoch},
			})
		}
	}
	return out, nil
}

// EndedSince returns the requests of a chat that have ended since a time, or all of
// them for the zero time.
func (s *Chats) EndedSince(ctx context.Context, conv fika.Conversation, since time.Time) ([]RequestInfo, error) {
	return s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, Since: since, States: fika.EndedStates()})
}
