package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
)

// Dropped reports what stopping a chat ended.
type Dropped struct {
	Notifications int
	Requests      []fika.RequestID // cancelled, or asked to stop
	Inputs        int              // texts that waited for a turn, taken back
	Jobs          []fika.AgentName // whose background commands were asked to end, one for each
}

// LapsedPause is a pause that ended because its owner was not heard from in time.
type LapsedPause struct {
	Conversation fika.Conversation
	Owner        string
	Notice       fika.Entry
	Woken        []fika.AgentName // agents that have work now
}

// pausedAll is a column that is true if all conversations are paused.
const pausedAll = `(SELECT m.value = '1' FROM meta m WHERE m.key = 'paused_all')`

func allPaused(ctx context.Context, q querier) (bool, error) {
	v, _, err := one(ctx, q, scanText, `SELECT value FROM meta WHERE key = 'paused_all'`)
	return v == "1", err
}

// pauseRows writes the pauses of conversations.
type pauseRows struct{ *tx }

func pausesIn(t *tx) pauseRows { return pauseRows{t} }

func (t pauseRows) allPaused(ctx context.Context) (bool, error) { return allPaused(ctx, t) }

// narrowed restricts a query for work to one conversation, which becomes its first
// argument.
func narrowed(query string) string {
	return strings.Replace(query, `WHERE `, `WHERE c.id = ? AND `, 1)
}

func workers(w []Work) []fika.AgentName {
	var names []fika.AgentName
	for _, a := range w {
		names = append(names, a.Agent)
	}
	return names
}

// tellPause adds an event about the pause of a conversation, or of all.
func (t *tx) tellPause(c fika.ConversationID, paused bool) {
	state := Resumed
	if paused {
		state = Paused
	}
	t.tell(event{kind: PauseEvent, conversation: c, state: state})
}

// SetPaused pauses or resumes one conversation, and with it the tasks that its turns
// have delegated, and returns the agents that now have work (to be woken).
func (s Pauses) SetPaused(ctx context.Context, c fika.ConversationID, paused bool) ([]fika.AgentName, error) {
	const op = "pause conversation"
	var ring []fika.AgentName
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		ring = nil
		if _, err := conversationsIn(t).lock(ctx, c); err != nil {
			return err
		}
		text := `DELETE FROM brakes WHERE conversation = ?`
		if paused {
			text = `INSERT INTO brakes (conversation, owner) VALUES (?, '') ON CONFLICT DO NOTHING`
		}
		if _, err := t.exec(ctx, text, c); err != nil {
			return err
		}
		var err error
		ring, err = pausesIn(t).setPaused(ctx, c, paused)
		return err
	})
	return ring, err
}

// setPaused pauses or resumes a conversation with the tasks that were delegated in
// it, and returns the agents that then have work.
func (t pauseRows) setPaused(ctx context.Context, c fika.ConversationID, paused bool) ([]fika.AgentName, error) {
	tasks, err := many(ctx, t, scanText, below, c)
	if err != nil {
		return nil, err
	}
	slices.Sort(tasks)
	ring, err := flowsIn(t.tx).pauseIn(ctx, tasks, paused) // with the steps that they begin later
	if err != nil {
		return nil, err
	}
	for _, id := range append(tasks, string(c)) {
		t.tellPause(fika.ConversationID(id), paused)
		if err := t.put(ctx, `UPDATE conversations SET paused = ? WHERE id = ?`, number(paused), id); err != nil {
			return nil, err
		}
	}
	if paused {
		return nil, nil
	}
	for _, id := range append(tasks, string(c)) {
		w, err := t.db.withWork(ctx, t, fika.ConversationID(id))
		if err != nil {
			return nil, err
		}
		ring = append(ring, workers(w)...)
	}
	return ring, nil
}

// LeasePause pauses one conversation for owner, who has to renew the pause within d
// ([Pauses.RenewPause]), and reports whether the conversation was not paused before. It
// stays paused as long as any such lease lasts or SetPaused has paused it; resuming it
// with SetPaused ends all of them. LeasePause fails with Invalid without an owner or a
// positive d.
func (s Pauses) LeasePause(ctx context.Context, c fika.ConversationID, owner string, d time.Duration) (bool, error) {
	const op = "hold conversation"
	if owner == "" || d <= 0 {
		return false, fika.Errorf(fika.Invalid, op, "a pause needs an owner and an end")
	}
	first := false
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		conv, err := conversationsIn(t).lock(ctx, c)
		if err != nil {
			return err
		}
		first = !conv.Paused
		_, err = t.exec(ctx, `INSERT INTO brakes (conversation, owner, until) VALUES (?, ?, ?)
ON CONFLICT (conversation, owner) DO UPDATE SET until = excluded.until`, c, owner, t.now+d.Milliseconds())
		if err == nil && first {
			_, err = pausesIn(t).setPaused(ctx, c, true)
		}
		return err
	})
	return first, err
}

// RenewPause extends a leased pause by d from now. It fails with Lost if somebody has
// resumed the conversation, or the pause had lapsed and was ended.
func (s Pauses) RenewPause(ctx context.Context, c fika.ConversationID, owner string, d time.Duration) error {
	const op = "hold conversation"
	return s.writeRelaxed(ctx, op, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE brakes SET until = ? WHERE conversation = ? AND owner = ? AND until > 0`, t.now+d.Milliseconds(), c, owner)
		if err == nil && n == 0 {
			err = fika.Errorf(fika.Lost, op, "somebody has resumed it")
		}
		return err
	})
}

// ReleasePause ends the pause of owner and returns the agents that now have work. A
// pause that no longer exists is not an error.
func (s Pauses) ReleasePause(ctx context.Context, c fika.ConversationID, owner string) ([]fika.AgentName, error) {
	var ring []fika.AgentName
	err := s.write(ctx, "let go of conversation", func(ctx context.Context, t *tx) error {
		var err error
		ring, _, err = pausesIn(t).releasePause(ctx, c, owner)
		return err
	})
	return ring, err
}

// releasePause removes the pause of an owner and, if it was the last one, resumes the
// conversation.
func (t pauseRows) releasePause(ctx context.Context, c fika.ConversationID, owner string) (ring []fika.AgentName, resumed bool, err error) {
	if err := t.lockAll(ctx, `SELECT c.id FROM conversations c WHERE c.id = ?`+lockConversation, c); err != nil {
		return nil, false, err
	}
	n, err := t.exec(ctx, `DELETE FROM brakes WHERE conversation = ? AND owner = ? AND until > 0`, c, owner)
	if err != nil || n == 0 {
		t.discard = err == nil
		return nil, false, err
	}
	_, more, err := one(ctx, t, scanText, `SELECT owner FROM brakes WHERE conversation = ?`, c)
	if err != nil || more {
		return nil, false, err
	}
	ring, err = t.setPaused(ctx, c, false)
	return ring, true, err
}

// ResumeLapsed ends the pauses that have lapsed, each with a notice.
func (s Pauses) ResumeLapsed(ctx context.Context) ([]LapsedPause, error) {
	const op = "lift brakes"
	const late = `SELECT conversation, owner FROM brakes WHERE until > 0 AND until <= ?`
	scan := func(sc scanner) (l LapsedPause, err error) {
		err = sc.Scan(&l.Conversation.ID, &l.Owner)
		return l, err
	}
	// ResumeLapsed is called every few seconds, mostly in vain, so it looks before it
	// writes.
	_, any, err := one(ctx, s.r, scan, late, s.nowMS())
	if err != nil || !any {
		return nil, s.explain(op, err)
	}
	var out []LapsedPause
	err = s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = nil
		all, err := many(ctx, t, scan, late, t.now)
		if err != nil {
			return err
		}
		for _, l := range all {
			if l, err = pausesIn(t).resumeLapsed(ctx, l); err != nil {
				return err
			}
			out = append(out, l)
		}
		return nil
	})
	return out, err
}

// resumeLapsed ends one lapsed pause and posts a notice in the conversation.
func (t pauseRows) resumeLapsed(ctx context.Context, l LapsedPause) (LapsedPause, error) {
	c, err := conversationsIn(t.tx).lock(ctx, l.Conversation.ID)
	if err != nil {
		return l, err
	}
	resumed := false
	if l.Woken, resumed, err = t.releasePause(ctx, c.ID, l.Owner); err != nil {
		return l, err
	}
	text := l.Owner + " disconnected; the chat is still paused"
	if resumed {
		text = l.Owner + " disconnected; the chat has been resumed"
	}
	l.Notice = limitsIn(t.tx).notice(c, text, "resumed")
	if err := t.append(ctx, &l.Notice); err != nil {
		return l, err
	}
	l.Conversation, err = conversationByID(ctx, t, c.ID)
	return l, err
}

// SetAllPaused pauses or resumes all conversations, new ones included, and returns
// the agents that then have work.
func (s Pauses) SetAllPaused(ctx context.Context, paused bool) ([]fika.AgentName, error) {
	var ring []fika.AgentName
	err := s.write(ctx, "pause all", func(ctx context.Context, t *tx) error {
		value := "0"
		if paused {
			value = "1"
		}
		t.tellPause("", paused)
		if _, err := t.exec(ctx, `UPDATE meta SET value = ? WHERE key = 'paused_all'`, value); err != nil || paused {
			return err
		}
		w, err := s.withWork(ctx, t, "")
		ring = workers(w)
		return err
	})
	return ring, err
}

// AllPaused reports whether all conversations are paused.
func (s Pauses) AllPaused(ctx context.Context) (bool, error) {
	p, err := allPaused(ctx, s.r)
	return p, s.explain("read pause", err)
}

// StopChat drops the pending notifications and queued inputs of a chat, cancels its open and waiting
// requests and asks running ones and background commands to stop, for the given reason; see [InterruptedBy]. A
// notice for each agent whose notifications were dropped says so.
func (s Pauses) StopChat(ctx context.Context, c fika.ConversationID, reason string) (Dropped, error) {
	var out Dropped
	err := s.write(ctx, "stop chat", func(ctx context.Context, t *tx) error {
		if err := t.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.conversation = ? AND r.finished_at = 0 ORDER BY r.n`+lockRequest, c); err != nil {
			return err
		}
		conv, err := conversationsIn(t).lock(ctx, c)
		if err == nil {
			err = pausesIn(t).noticeDropped(ctx, conv, reason)
		}
		if err == nil {
			out, err = pausesIn(t).stopChat(ctx, c, cmp.Or(reason, reasonStopped))
		}
		return err
	})
	return out, err
}

// stopChat is [Pauses.StopChat] for a caller that has locked the open requests of the
// chat.
func (t pauseRows) stopChat(ctx context.Context, c fika.ConversationID, reason string) (Dropped, error) {
	var out Dropped
	if _, err := conversationsIn(t.tx).lock(ctx, c); err != nil {
		return out, err
	}
	var err error
	if out.Inputs, err = inputsIn(t.tx).withdrawAll(ctx, c); err != nil {
		return out, err
	}
	if out.Jobs, err = jobsIn(t.tx).askAll(ctx, c, false, "the chat was stopped"); err != nil {
		return out, err
	}
	n, err := t.exec(ctx, `UPDATE notifications SET state = 'dropped', reason = ? WHERE conversation = ? AND `+live+` AND state = 'pending'`, reasonStopped, c)
	if err != nil {
		return out, err
	}
	out.Notifications = int(n)
	active, err := many(ctx, t, scanText, `SELECT id FROM requests WHERE conversation = ? AND finished_at = 0 ORDER BY +n`, c)
	if err != nil {
		return out, err
	}
	for _, id := range active {
		if err := t.cancel(ctx, fika.RequestID(id), reason); err != nil {
			return out, err
		}
		out.Requests = append(out.Requests, fika.RequestID(id))
	}
	return out, nil
}

// noticeDropped posts, for each agent that has pending notifications in a chat, that they
// are dropped: its model would take them for open orders.
func (t pauseRows) noticeDropped(ctx context.Context, c fika.Conversation, reason string) error {
	type waiting struct {
		agent   fika.AgentName
		message fika.EntryID
	}
	list, err := many(ctx, t, func(s scanner) (w waiting, err error) { return w, s.Scan(&w.agent, &w.message) },
		`SELECT a.name, COALESCE(e.id, '') FROM notifications n JOIN agents a ON a.id = n.agent
LEFT JOIN entries e ON e.conversation = n.conversation AND e.seq = n.seq WHERE n.conversation = ? AND n.`+live+` AND n.state = 'pending' ORDER BY a.name, n.seq`, c.ID)
	for count, i := 1, 0; i < len(list); i++ {
		w := list[i]
		if i+1 < len(list) && list[i+1].agent == w.agent {
			count++
			continue
		}
		what := "a message"
		if count > 1 {
			what = fmt.Sprintf("%d messages", count)
		}
		count = 1
		n := limitsIn(t.tx).notice(c, fmt.Sprintf("%s for @%s dropped: %s", what, w.agent, interruptedBy(reason)), string(fika.Interrupted))
		n.Meta.WriterName, n.ReplyTo = string(w.agent), w.message // the newest
		if err := t.append(ctx, &n); err != nil {
			return err
		}
	}
	return err
}

// stoppedHere selects the notifications that a limit has dropped in a conversation
// (both its arguments), or elsewhere in a chain that began there.
const stoppedHere = `n.state = 'dropped' AND n.reason = 'limit'
AND (n.conversation = ? OR EXISTS (SELECT 1 FROM chains ch WHERE ch.root = n.chain AND ch.conversation = ? AND ch.limit_hit <> ''))`

// ContinueChain makes the notifications that a limit dropped, here or elsewhere in a
// chain that began here, pending again under a new root at depth 0. It returns the
// agents to wake and fails with NotFound if no limit dropped anything.
func (s Pauses) ContinueChain(ctx context.Context, c fika.ConversationID) ([]fika.AgentName, error) {
	const op = "continue chain"
	var ring []fika.AgentName
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		err := t.lockAll(ctx, `SELECT c.id FROM conversations c WHERE c.id IN (SELECT n.conversation FROM notifications n WHERE `+stoppedHere+`) ORDER BY c.id`+lockConversation, c, c)
		if err != nil {
			return err
		}
		agents, err := many(ctx, t, func(sc scanner) (a fika.Agent, err error) { return a, sc.Scan(&a.ID, &a.Name) },
			`SELECT DISTINCT a.id, a.name FROM notifications n JOIN agents a ON a.id = n.agent WHERE `+stoppedHere+` ORDER BY a.name`, c, c)
		if err != nil {
			return err
		}
		ring = nil
		for _, a := range agents {
			ring = append(ring, a.Name)
			t.also(Result{Kind: AgentEvent, Agent: a.ID})
		}
		if len(ring) == 0 {
			return fika.Errorf(fika.NotFound, op, "no limit has stopped anything here")
		}
		root := fika.RequestID(t.newID())
		person, _, err := one(ctx, t, scanText, `SELECT ch.person FROM notifications n JOIN chains ch ON ch.root = n.chain
WHERE `+stoppedHere+` ORDER BY +n.id DESC LIMIT 1`, c, c)
		if err != nil {
			return err
		}
		if _, _, err := chainsIn(t).chainFor(ctx, c, "", 0, root, person, true); err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE notifications SET state = 'pending', reason = '', request = '', chain = ?, depth = 0
WHERE id IN (SELECT n.id FROM notifications n WHERE `+stoppedHere+`)`, root, c, c)
		return err
	})
	return ring, err
}
