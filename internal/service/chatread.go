package service

import (
	"context"
	"errors"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/chat"
	"fika/internal/store"
)

// Read passes the entries that match a query to show, reading a page at a time, and
// returns the seq of the last one, or 0 if there were none. It returns Denied if an agent
// asks through a command in one of its tools and may not see the conversation.
func (s *Chats) Read(ctx context.Context, q EntryQuery, show func(fika.Entry) error) (last int64, err error) {
	if err := s.c.mayConversation(ctx, "conversation.entries", q.Conversation); err != nil {
		return 0, err
	}
	err = s.c.store.EachEntry(ctx, q, func(x fika.Entry) error {
		err := show(x)
		if err == nil {
			last = x.Seq
		}
		return err
	})
	return last, err
}

// Tree returns the entries that match a query, with answers below the entries that they
// answer.
func (s *Chats) Tree(ctx context.Context, q EntryQuery) ([]Node, error) {
	if err := s.c.mayConversation(ctx, "conversation.tree", q.Conversation); err != nil {
		return nil, err
	}
	entries, err := s.c.store.Entries(ctx, q)
	if err != nil {
		return nil, err
	}
	notes, err := s.c.store.Notifications(ctx, store.NotificationFilter{Conversation: q.Conversation})
	if err != nil {
		return nil, err
	}
	covers := map[fika.RequestID][]int64{}
	for _, n := range notes {
		covers[n.Request] = append(covers[n.Request], n.Seq)
	}
	return chat.AnswerTree(entries, covers), nil
}

// ChatWatch follows a chat: the bus makes it quick, and reading the store now and then
// makes it reliable.
type ChatWatch struct {
	// AfterLook is called after each reading of the store; may be nil.
	AfterLook func(context.Context)
	// Renamed is called with the chat after it was renamed; may be nil.
	Renamed func(fika.Conversation) error

	c        *Service
	entries  bus.Subscription
	turns    bus.Subscription // nil without ShowStatuses
	statuses *statusGate      // nil without ShowStatuses
	woken    chan struct{}    // capacity 1: look at the store
}

// Watch starts listening to a chat. Call it before the first read, so that nothing is
// missed.
func (s *Chats) Watch(conv fika.Conversation) (*ChatWatch, error) {
	w := &ChatWatch{c: s.c, woken: make(chan struct{}, 1)}
	return w, w.listen(conv.Name)
}

func (w *ChatWatch) listen(name fika.ConversationName) (err error) {
	w.entries, err = w.c.bus.Subscribe(w.c.subjects.Chat(name), func(bus.Msg) { w.wake() })
	return err
}

// wake makes Run look at the store.
func (w *ChatWatch) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// follow listens to a chat under its current name.
func (w *ChatWatch) follow(ctx context.Context, id fika.ConversationID) error {
	conv, err := w.c.store.ConversationByID(ctx, id)
	if err != nil {
		return err
	}
	before := *w
	if err := w.listen(conv.Name); err != nil {
		w.entries = before.entries
		return err
	}
	if w.turns != nil {
		if err := w.listenToTurns(conv.Name); err != nil {
			w.turns = before.turns
			return errors.Join(err, before.entries.Close())
		}
	}
	if err := before.Close(); err != nil || w.Renamed == nil {
		return err
	}
	return w.Renamed(conv)
}

// Close stops listening.
func (w *ChatWatch) Close() error {
	err := w.entries.Close()
	if w.turns != nil {
		err = errors.Join(err, w.turns.Close())
	}
	return err
}

// Run passes the entries that match the query, and later ones, to show until ctx ends,
// which is not an error.
func (w *ChatWatch) Run(ctx context.Context, q EntryQuery, show func(fika.Entry) error) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	renamed := false
	seen := func(x fika.Entry) error {
		renamed = renamed || x.Meta.Kind == fika.RenamedNotice
		if x.Meta.Writer == fika.ByAgent {
			w.statuses.open(string(x.Request)) // what it answers was shown before it
		}
		return show(x)
	}
	for {
		waiting := w.statuses.waiting()
		last, err := w.c.Chats.Read(ctx, q, seen)
		if err == nil && renamed {
			renamed = false
			err = w.follow(ctx, q.Conversation)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		w.statuses.open(waiting...)
		q.Since = max(q.Since, last)
		if w.AfterLook != nil {
			w.AfterLook(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.woken:
		case <-look.C:
		}
	}
}
