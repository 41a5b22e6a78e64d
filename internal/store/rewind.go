package store

import (
	"context"
	"fmt"
	"strings"

	"fika"
)

// Frame is what bounds an agent's view of a conversation.
type Frame struct {
	Compaction *fika.Entry // the newest that counts; nil: none does
	Cuts       fika.Cuts   // what rewinds have taken out
}

const (
	selectRewinds     = selectEntry + ` WHERE e.conversation = ? AND e.type = 'rewind'`
	selectCompactions = selectEntry + ` WHERE e.conversation = ? AND e.type = 'compaction' AND e.seq <= ? ORDER BY e.seq DESC LIMIT ?`
)

// Frame returns the newest compaction with seq <= upto of an agent's view of a
// conversation, that no later entry has undone and no rewind has taken out, and what
// rewinds have taken out. An empty view is that of people: it has only the compactions that
// hold for everybody.
func (s Transcripts) Frame(ctx context.Context, c fika.ConversationID, view fika.AgentID, upto int64) (f Frame, err error) {
	// Nearly always the newest compaction is the one.
	list, err := many(ctx, s.r, scanEntry, selectRewinds+` UNION ALL SELECT * FROM (`+selectCompactions+`) c`, c, c, upto, 1)
	if err != nil {
		return f, s.explain("read compaction", err)
	}
	var rewinds, page []fika.Entry
	for _, e := range list {
		if e.Type == fika.Compaction {
			page = append(page, e)
		} else {
			rewinds = append(rewinds, e)
		}
	}
	f.Cuts = fika.CutsOf(rewinds)
	undone := map[int64]bool{}
	for size := 1; ; {
		for i, e := range page {
			switch {
			case e.Meta.View != "" && e.Meta.View != view:
			case undone[e.Seq], f.Cuts.Has(e.Seq): // and so is what it undoes
			case e.Meta.Undo > 0:
				undone[e.Meta.Undo] = true
			case e.Meta.UpTo > 0: // a compaction without UpTo, written by another program, cuts nothing
				f.Compaction = &page[i]
				return f, nil
			}
			upto = e.Seq - 1
		}
		if len(page) < size {
			return f, nil
		}
		size = 16
		if page, err = many(ctx, s.r, scanEntry, selectCompactions, c, upto, size); err != nil {
			return f, s.explain("read compaction", err)
		}
	}
}

// Rewound reports what [Pauses.Rewind] did.
type Rewound struct {
	Entry fika.Entry // the rewind
	Dropped
}

// Rewind takes what was said in a chat from one person's message on out of what models see,
// or, with back, puts back what the last rewind has taken out. It drops what waits and ends
// the requests that nobody works. Nothing is deleted. It fails with Conflict while a turn is
// at work, with NotFound, and with Invalid for what is no message of a person.
func (s Pauses) Rewind(ctx context.Context, id fika.ConversationID, from int64, back bool, by, reason string) (Rewound, error) {
	const op = "rewind"
	var out Rewound
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = Rewound{}
		if err := t.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.conversation = ? AND r.finished_at = 0 ORDER BY r.n`+lockRequest, id); err != nil {
			return err
		}
		c, err := conversationsIn(t).lock(ctx, id)
		if err != nil {
			return err
		}
		e, err := rewindsIn(t).entry(ctx, c, from, back, by)
		if err != nil {
			return err
		}
		if out.Dropped, err = pausesIn(t).stopChat(ctx, id, reason); err != nil {
			return err
		}
		_, busy, err := one(ctx, t, scanText, `SELECT r.id FROM requests r WHERE r.conversation = ? AND r.finished_at = 0 LIMIT 1`, id)
		if err == nil && busy {
			err = fika.Errorf(fika.Conflict, op, "agents are at work in %s", c.Name)
		}
		if err == nil {
			err = conversationsIn(t).forgetGuests(ctx, id)
		}
		if err != nil {
			return err
		}
		if !back {
			e.Meta.Cut.To = t.lastSeq[id] // with what stopping has said
		}
		if err := t.append(ctx, &e); err != nil {
			return err
		}
		out.Entry = e
		return nil
	})
	return out, err
}

// rewindRows writes rewinds.
type rewindRows struct{ *tx }

func rewindsIn(t *tx) rewindRows { return rewindRows{t} }

// entry returns a rewind, not yet stored.
func (t rewindRows) entry(ctx context.Context, c fika.Conversation, from int64, back bool, by string) (fika.Entry, error) {
	const op = "rewind"
	e := fika.Entry{Conversation: c.ID, From: by, To: string(c.Name), Type: fika.Rewind, Meta: fika.EntryMeta{Writer: fika.ByHuman, WriterName: by}}
	if c.Kind != fika.Chat {
		return e, fika.Errorf(fika.Invalid, op, "%s is not a chat", c.Name)
	}
	rewinds, err := many(ctx, t, scanEntry, selectRewinds, c.ID)
	if err != nil {
		return e, err
	}
	if back {
		last := fika.NewestRewind(rewinds)
		if last == nil {
			return e, fika.Errorf(fika.NotFound, op, "nothing in %s was rewound", c.Name)
		}
		e.Meta.Undo = last.Seq
		e.Content = fmt.Sprintf("put back #%d to #%d", last.Meta.Cut.From, last.Meta.Cut.To)
		return e, nil
	}
	said, ok, err := one(ctx, t, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.seq = ?`, c.ID, from)
	switch {
	case err != nil:
		return e, err
	case !ok:
		return e, fika.Errorf(fika.NotFound, op, "no entry #%d in %s", from, c.Name)
	case said.Type != fika.Message || said.Meta.Writer != fika.ByHuman:
		return e, fika.Errorf(fika.Invalid, op, "#%d is not a message of a person", from)
	case fika.CutsOf(rewinds).Has(from):
		return e, fika.Errorf(fika.Invalid, op, "#%d was rewound before", from)
	}
	e.Meta.Cut.From = from
	line, _, _ := strings.Cut(strings.TrimSpace(said.Content), "\n")
	e.Content = fmt.Sprintf("went back to before #%d: %s", from, line)
	return e, nil
}

// Rewinds returns the rewinds of a conversation.
func (s Transcripts) Rewinds(ctx context.Context, c fika.ConversationID) ([]fika.Entry, error) {
	list, err := many(ctx, s.r, scanEntry, selectRewinds+` ORDER BY e.seq`, c)
	return list, s.explain("read rewinds", err)
}

// CausedIn returns the requests that what was said in a part of a conversation has caused,
// there and elsewhere, the newest first.
func (s Requests) CausedIn(ctx context.Context, c fika.ConversationID, part fika.Cut) ([]fika.RequestID, error) {
	list, err := many(ctx, s.r, scanText, `SELECT r.id FROM requests r WHERE r.chain IN
(SELECT e.chain FROM entries e WHERE e.conversation = ? AND e.seq >= ? AND e.seq <= ? AND e.chain <> '')
AND r.created_at >= (SELECT e.at FROM entries e WHERE e.conversation = ? AND e.seq = ?) ORDER BY r.n DESC`, c, part.From, part.To, c, part.From)
	ids := make([]fika.RequestID, len(list))
	for i, id := range list {
		ids[i] = fika.RequestID(id)
	}
	return ids, s.explain("read requests", err)
}
