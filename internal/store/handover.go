package store

import (
	"context"
	"fmt"
	"slices"

	"fika"
)

// HandOver asks to give a request to another agent than the one that it waits for.
type HandOver struct {
	Request fika.RequestID
	From    fika.AgentID // the agent that has it now
	To      fika.AgentID
	Why     string // for people: what keeps From from working it
}

// HandedOver reports what [Queue.HandOver] committed.
type HandedOver struct {
	RequestInfo // as it stands afterwards
	// Done is false if nothing was changed: the request belongs to another agent by
	// now, has begun or ended, or To waits for it.
	Done   bool
	Notice fika.Entry
}

// notBegun is true for a queued request that has never been claimed with success: it
// may still be given to another agent.
const notBegun = `r.finished_at = 0 AND r.upto_seq = 0 AND r.origin = 'queued' AND r.cancel_at = 0 AND r.kind IN ('ask', 'task')
AND (r.state = 'open' OR (r.state = 'waiting' AND r.reason = '` + string(fika.WaitLimit) + `'))`

// cameToNothing is true for a request that its agent has begun and gives away, because no
// model has answered it.
const cameToNothing = `r.finished_at = 0 AND r.cancel_at = 0 AND r.state = 'waiting' AND r.reason = '` + string(fika.WaitBackup) + `'
AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.request = r.id AND s.kind IN ('` + string(fika.ModelStep) + `', '` + string(fika.ToolStep) + `'))`

// MayGiveAway reports whether a turn of a request could wait for a backup of its agent
// ([fika.WaitBackup]), judging by the request alone, as long as no model has answered.
func MayGiveAway(r fika.Request) bool {
	return mayMove(r) && r.Task == 0 && !r.Payload.Summary
}

// MayHandOver reports whether a request could be given to another agent, judging by
// the request alone: nobody has begun it or its agent gives it away, and it does not
// merely continue a conversation, which belongs to one agent.
func MayHandOver(r fika.Request) bool {
	switch waits := fika.WaitReason(r.Reason); {
	case r.State == fika.Waiting && waits == fika.WaitBackup:
		return mayMove(r)
	case r.State == fika.Open, r.State == fika.Waiting && waits == fika.WaitLimit:
		return mayMove(r) && r.UptoSeq == 0
	}
	return false
}

func mayMove(r fika.Request) bool {
	return r.Origin == fika.Queued && r.CancelAt.IsZero() &&
		(r.Kind == fika.TaskRequest || r.Kind == fika.AskRequest && !r.Payload.Continue)
}

// HandOver gives a request that nobody has begun, or that came to nothing, to another
// agent and posts a notice where it is going to be worked: a task stays in its own
// conversation, an ask moves to the one that people have with the new agent. The request
// keeps the name under which it was asked. Repeating the call changes nothing more.
func (s Queue) HandOver(ctx context.Context, h HandOver) (HandedOver, error) {
	const op = "hand over"
	var out HandedOver
	err := s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		out = HandedOver{}
		var both []fika.Agent
		err := t.begin(ctx, all(&both, scanAgent, selectAgent+` WHERE a.id IN (?, ?) ORDER BY a.id`+lockAgent, h.From, h.To))
		if err != nil {
			return err
		}
		t.discard = true
		to := slices.IndexFunc(both, func(a fika.Agent) bool { return a.ID == h.To })
		from := slices.IndexFunc(both, func(a fika.Agent) bool { return a.ID == h.From })
		if to < 0 || from < 0 || to == from {
			return nil
		}
		r, ok, err := one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ? AND r.agent = ? AND (`+notBegun+` OR `+cameToNothing+`)`+lockRequest, h.Request, h.From)
		if err != nil || !ok || !MayHandOver(r) {
			return err
		}
		if above, err := many(ctx, t, scanText, waitsFor, r.ID); err != nil || slices.Contains(above, string(h.To)) {
			return err
		}
		t.discard = false
		why := h.Why
		if r.UptoSeq > 0 {
			words, err := t.takeBack(ctx, &r, both[from].Name, both[to].Name)
			if err != nil {
				return err
			}
			why += ": " + words
		}
		if out.Notice, err = t.moveRequest(ctx, r, both[from], both[to], why); err != nil {
			return err
		}
		out.Done = true
		out.RequestInfo, _, err = one(ctx, t, scanRequestInfo, selectRequestInfo+` WHERE r.id = ?`, r.ID)
		return err
	})
	return out, err
}

// takeBack makes a request that came to nothing one that nobody has begun, and returns the
// provider's words. The prompt of a task is in the conversation that the task takes along.
// That of an ask stays where it was asked, with a notice that it is not wanted there any
// more; the request is counted in its chain when it begins elsewhere.
func (t *tx) takeBack(ctx context.Context, r *fika.Request, from, to fika.AgentName) (words string, err error) {
	words, _, err = one(ctx, t, scanText, `SELECT choice FROM steps WHERE request = ? AND kind = 'failed' AND choice <> '' ORDER BY n DESC LIMIT 1`, r.ID)
	if err != nil || r.Kind != fika.AskRequest {
		return words, err
	}
	c, err := conversationsIn(t).lock(ctx, r.Conversation)
	if err != nil {
		return words, err
	}
	e := limitsIn(t).notice(c, fmt.Sprintf("handed over from @%s to @%s", from, to), string(fika.Interrupted))
	e.Request, e.Chain, e.Depth = r.ID, r.Chain, r.Depth
	if err := t.append(ctx, &e); err != nil {
		return words, err
	}
	r.UptoSeq = 0
	t.putLast(`UPDATE chains SET turns = turns - 1 WHERE root = ? AND turns > 0`, r.Chain)
	return words, t.put(ctx, `UPDATE notifications SET state = 'pending', request = '' WHERE request = ? AND request <> '' AND state = 'claimed'`, r.ID)
}

// moveRequest makes a request another agent's. Both agents and the request are
// locked.
func (t *tx) moveRequest(ctx context.Context, r fika.Request, from, to fika.Agent, why string) (fika.Entry, error) {
	var e fika.Entry
	c := fika.Conversation{ID: r.Conversation}
	var err error
	if to.IsPool() && r.Kind == fika.AskRequest {
		if to, err = poolsIn(t).choose(ctx, to.ID, "", func(a fika.Agent) bool { return a.ID == from.ID }); err != nil {
			return e, err
		}
	}
	if r.Kind == fika.AskRequest {
		if c, err = agentsIn(t).activeAsk(ctx, to.ID); err != nil {
			return e, err
		}
	}
	if c, err = conversationsIn(t).lock(ctx, c.ID); err != nil {
		return e, err
	}
	if r.Kind == fika.TaskRequest {
		if _, err := t.tellConversations(ctx, "", `UPDATE conversations SET agent = ? WHERE id = ?`, to.ID, c.ID); err != nil {
			return e, err
		}
	}
	err = t.put(ctx, `UPDATE requests SET agent = ?, addressed = ?, handed = ?, conversation = ?, upto_seq = ?, state = 'open', reason = '', wait_until = 0,
attempts = 0, started_at = 0, touched = ? WHERE id = ?`, to.ID, r.Asked(), why, c.ID, r.UptoSeq, t.now, r.ID)
	if err != nil {
		return e, err
	}
	r.Agent, r.Conversation, r.State = to.ID, c.ID, fika.Open
	t.tellRequest(r, EventData{})
	e = limitsIn(t).notice(c, fmt.Sprintf("handed over from @%s to @%s: %s", from.Name, to.Name, why), "handed")
	e.Request, e.Chain, e.Depth = r.ID, r.Chain, r.Depth
	return e, t.append(ctx, &e)
}
