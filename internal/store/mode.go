package store

import (
	"context"

	"fika"
)

// modesElsewhere are columns with the modes that bound a turn besides that of its own
// conversation c: of the conversation in which its chain began, and of the chats in which
// the runs that these two are part of were begun.
const modesElsewhere = `COALESCE((SELECT o.mode FROM chains h JOIN conversations o ON o.id = h.conversation WHERE h.root = r.chain), ''),
COALESCE((SELECT o.mode FROM chains h JOIN conversations b ON b.id = h.conversation JOIN flow_runs f ON f.id = b.run JOIN conversations o ON o.id = f.chat WHERE h.root = r.chain), ''),
COALESCE((SELECT o.mode FROM flow_runs f JOIN conversations o ON o.id = f.chat WHERE f.id = c.run), '')`

func scanModes(s scanner) (m [4]fika.Mode, err error) { return m, s.Scan(&m[0], &m[1], &m[2], &m[3]) }

// mode returns the mode that bounds a turn.
func (r turn) mode() fika.Mode { return fika.Strictest(r.modes[:]...) }

// signalUnder is [turn.signal] for a call that was judged under a mode.
func (r turn) signalUnder(now int64, under fika.Mode) Signal {
	sig := r.signal(now)
	if now := r.mode(); now != under {
		sig.Mode, sig.Moved = now, true
	}
	return sig
}

// SetMode sets the mode of a chat for a person, and returns the chat as it then stands. Plan
// mode asks the background commands that run because of it to end: jobs are the agents whose
// they are. It fails with NotFound, and with Invalid if the conversation is not a chat.
func (s Chats) SetMode(ctx context.Context, id fika.ConversationID, mode fika.Mode, by string) (c fika.Conversation, jobs []fika.AgentName, err error) {
	const op = "set mode"
	err = s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		jobs = nil
		if c, err = conversationsIn(t).lock(ctx, id); err != nil {
			return err
		}
		switch {
		case c.Kind != fika.Chat:
			return fika.Errorf(fika.Invalid, op, "%s is not a chat", c.Name)
		case c.Mode == mode:
			t.discard = true
			return nil
		}
		if mode == fika.PlanMode {
			if jobs, err = jobsIn(t).askAll(ctx, id, true, "the chat is in plan mode"); err != nil {
				return err
			}
		}
		c.Mode = mode
		return conversationsIn(t).setMode(ctx, c, by)
	})
	return c, jobs, err
}

// setMode stores the mode of a conversation that is locked.
func (t conversationRows) setMode(ctx context.Context, c fika.Conversation, by string) error {
	t.tell(event{kind: ConversationEvent, conversation: c.ID, agent: c.Agent, state: string(c.Status), data: EventData{Kind: string(c.Kind), Mode: c.Mode, Person: by}})
	return t.put(ctx, `UPDATE conversations SET mode = ? WHERE id = ?`, c.Mode, c.ID)
}

// selectPlan selects the newest plan behind an entry of a conversation.
const selectPlan = selectEntry + ` WHERE e.conversation = ? AND e.seq > ? AND e.type = 'message' AND e.metadata LIKE '%"plan":true%' ORDER BY e.seq DESC LIMIT 1`

// planAge is how many entries ago a plan may have been made: an older one is out of date.
const planAge = 1000

// newestPlan reads the newest plan of a conversation; false if there is none, or a person has
// rewound it.
func newestPlan(ctx context.Context, r querier, c fika.Conversation) (fika.Entry, bool, error) {
	e, ok, err := one(ctx, r, scanEntry, selectPlan, c.ID, c.LastSeq-planAge)
	if err != nil || !ok {
		return e, false, err
	}
	rewinds, err := many(ctx, r, scanEntry, selectRewinds, c.ID)
	return e, e.Meta.Plan && !fika.CutsOf(rewinds).Has(e.Seq), err
}

// Plan returns the newest plan of a chat in plan mode, which a person may accept. It fails
// with NotFound.
func (s Transcripts) Plan(ctx context.Context, id fika.ConversationID) (fika.Entry, error) {
	const op = "read plan"
	c, err := conversationByID(ctx, s.r, id)
	if err != nil {
		return fika.Entry{}, s.explain(op, err)
	}
	e, ok, err := newestPlan(ctx, s.r, c)
	if err == nil && (!ok || c.Mode != fika.PlanMode) {
		err = fika.Errorf(fika.NotFound, op, "no plan in %s waits for a person", c.Name)
	}
	return e, s.explain(op, err)
}

// accept sets the mode of a conversation, which is locked, for a message that accepts a
// plan.
func (t postRows) accept(ctx context.Context, c *fika.Conversation, p Post) error {
	const op = "accept plan"
	plan, ok, err := newestPlan(ctx, t, *c)
	switch {
	case err != nil:
		return err
	case c.Mode != fika.PlanMode:
		return fika.Errorf(fika.Conflict, op, "%s is not in plan mode any more", c.Name)
	case !ok || plan.ID != p.Accepts:
		return fika.Errorf(fika.Conflict, op, "there is another plan in %s by now", c.Name)
	}
	c.Mode = p.Mode
	return conversationsIn(t.tx).setMode(ctx, *c, p.From)
}
