package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/system/sleep"
)

// Rewound says what a rewind did.
type Rewound struct {
	store.Rewound
	Undone   []Undoing // what was done to files, the newest request first
	Commands []Undoing // requests that ran commands, whose changes stay
	Trouble  []error   // why files of a request stay as they are
}

// restTime is how long a rewind waits for turns under way to stop.
const restTime = 30 * time.Second

// Prompts returns what people have said in a chat and no rewind has taken out, the newest
// first.
func (s *Chats) Prompts(ctx context.Context, conv fika.Conversation, limit int) (out []fika.Entry, err error) {
	if err := s.c.mayConversation(ctx, "conversation.entries", conv.ID); err != nil {
		return nil, err
	}
	rewinds, err := s.c.store.Rewinds(ctx, conv.ID)
	if err != nil {
		return nil, err
	}
	cuts := fika.CutsOf(rewinds)
	upto := cuts.Before(1 << 62)
	for last := 4 * limit; ; last *= 4 {
		out = out[:0]
		n := 0
		_, err := s.Read(ctx, EntryQuery{Conversation: conv.ID, Upto: upto, Types: []fika.EntryType{fika.Message}, Last: last}, func(x fika.Entry) error {
			if n++; x.Meta.Writer == fika.ByHuman && !cuts.Has(x.Seq) {
				out = append(out, x)
			}
			return nil
		})
		if err != nil || n < last || len(out) >= limit {
			slices.Reverse(out)
			return out[:min(limit, len(out))], err
		}
	}
}

// Rewind takes what was said in a chat from one person's message on out of what agents see.
// What waits is dropped and what runs is ended first; with files, what was changed in files
// because of it is undone, the newest first. It returns Conflict if a turn does not stop in
// time, NotFound, and Invalid for what is no message of a person.
func (s *ChatControl) Rewind(ctx context.Context, conv fika.Conversation, from int64, files bool) (Rewound, error) {
	out, err := s.rewind(ctx, conv, from, false)
	if err != nil || !files {
		return out, err
	}
	ids, err := s.c.store.CausedIn(ctx, conv.ID, out.Entry.Meta.Cut)
	if err != nil {
		return out, err
	}
	u := s.c.Undo()
	for _, id := range ids {
		t, err := u.log().ReadTurn(id)
		switch {
		case fika.IsKind(err, fika.NotFound):
			continue
		case err != nil:
			out.Trouble = append(out.Trouble, err)
			continue
		}
		x, err := u.plan(ctx, t)
		switch {
		case err != nil:
			out.Trouble = append(out.Trouble, err)
			continue
		case len(t.Edits) == 0:
			out.Commands = append(out.Commands, x)
			continue
		case x.Redo, !x.Open() && !x.Again: // undone before, or there is nothing that can be
			continue
		}
		if x, err = u.Apply(ctx, id); err != nil {
			out.Trouble = append(out.Trouble, err)
			continue
		}
		out.Undone = append(out.Undone, x)
	}
	return out, nil
}

// RewindBack puts back what the last rewind of a chat has taken out. Files stay as they are.
// It returns NotFound if nothing is taken out, and Conflict as [ChatControl.Rewind] does.
func (s *ChatControl) RewindBack(ctx context.Context, conv fika.Conversation) (Rewound, error) {
	return s.rewind(ctx, conv, 0, true)
}

func (s *ChatControl) rewind(ctx context.Context, conv fika.Conversation, from int64, back bool) (out Rewound, err error) {
	if err := s.c.may("conversation.rewind"); err != nil {
		return out, err
	}
	said, err := s.c.personSays("", "")
	if err != nil {
		return out, err
	}
	if _, err := s.eachRun(ctx, conv, func(runs *Runs, r Run) error {
		_, err := runs.Cancel(ctx, r.ID, "the chat was rewound")
		return err
	}); err != nil {
		return out, err
	}
	out.Rewound, err = once(ctx, s.c, "conversation.rewind", []any{conv.ID, from, back}, func(to *store.Store) (store.Rewound, error) {
		return s.rewindAtRest(ctx, to, conv, from, back, said.From)
	}, func(done *store.Repeated) (r store.Rewound, err error) {
		r.Entry, err = s.c.store.EntryByID(ctx, conv.ID, done.Last(store.EntryEvent).Entry)
		return r, err
	})
	if err == nil {
		s.c.waker.Show(conv, out.Entry)
	}
	_ = s.c.bus.Flush(ctx)
	return out, err
}

// rewindAtRest rewinds once the turns under way have stopped, which are asked to.
func (s *ChatControl) rewindAtRest(ctx context.Context, to *store.Store, conv fika.Conversation, from int64, back bool, by string) (store.Rewound, error) {
	const look = 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += look {
		r, err := to.Rewind(ctx, conv.ID, from, back, by, s.c.interruption(""))
		if !fika.IsKind(err, fika.Conflict) || errors.Is(err, store.ErrKeyReused) || waited > restTime {
			return r, err
		}
		if waited == 0 {
			d, err := s.c.store.StopChat(ctx, conv.ID, s.c.interruption(""))
			if err != nil {
				return r, err
			}
			for _, id := range d.Requests {
				s.c.Requests.wakeStopped(ctx, id)
			}
			_ = s.c.bus.Flush(ctx)
		}
		if err := sleep.For(ctx, look); err != nil {
			return r, fika.Wrap(fika.Interrupted, "", err)
		}
	}
}
