package store

import (
	"context"
	"time"

	"fika"
)

// ActivityQuery narrows [Watch.Activity].
type ActivityQuery struct {
	Conversation fika.ConversationID // empty: all
	// DroppedSince bounds the dropped notifications by the time at which they were
	// created; those that a limit dropped, and that can be continued, are always
	// included.
	DroppedSince time.Time
}

// Activity is the work under way, read as of one moment, so that nothing is missing
// because it moves from one list to another.
type Activity struct {
	PausedAll     bool
	Conversations []fika.Conversation // those that the query is about and those of Requests, by name
	Pauses        []Pause
	// Requests lists the unfinished requests of the conversation and those that run
	// elsewhere, oldest first.
	Requests []Underway
	// Notifications lists those that are pending, claimed, dead or dropped, oldest
	// first.
	Notifications []NotificationInfo
}

// Pause is one pause of a conversation.
type Pause struct {
	Conversation fika.ConversationID
	Owner        string // who holds it; empty: paused until it is resumed
}

// Underway is an unfinished request and its progress.
type Underway struct {
	RequestInfo
	WaitUntil time.Time // of a waiting request; zero: no bound
	Calls     int       // number of model calls so far
	Tool      string    // the tool that runs now; empty: none
	ToolSince time.Time
	Child     fika.RequestID // the oldest unfinished request whose parent it is
	// Approval is the first question to a person that it waits for, also while it runs: its
	// number, 0 if there is none, and when it was asked.
	Approval int64
	Asked    time.Time
}

// NotificationInfo is a notification with the names that lists show.
type NotificationInfo struct {
	fika.Notification
	AgentName fika.AgentName
	CreatedAt time.Time
}

// NotificationFilter narrows [Watch.Notifications]: fields that are not empty must
// match. Conversation or Request is required.
type NotificationFilter struct {
	Conversation fika.ConversationID
	Seq          int64
	Agent        fika.AgentID
	Request      fika.RequestID
}

// live repeats the condition of the index notifications_live word for word: a query
// for some unsettled notifications must include it, or the database reads every one
// there ever was.
const live = `state IN ('pending', 'claimed', 'dead')`

const (
	selectNotification = `SELECT n.id, n.conversation, n.seq, n.agent, n.chain, n.depth, n.state, n.reason, n.request, n.created_at, a.name
FROM notifications n JOIN agents a ON a.id = n.agent`
	underway = `SELECT ` + requestColumns + `, a.name, c.name, ` + addressedName + `, r.wait_until,
(SELECT count(*) FROM steps s WHERE s.request = r.id AND s.kind = 'model'),
COALESCE((SELECT s.tool FROM steps s WHERE s.request = r.id AND s.state = 'started' AND s.kind = 'tool' ORDER BY s.n DESC LIMIT 1), ''),
COALESCE((SELECT s.started_at FROM steps s WHERE s.request = r.id AND s.state = 'started' AND s.kind = 'tool' ORDER BY s.n DESC LIMIT 1), 0),
COALESCE((SELECT k.id FROM requests k WHERE k.parent = r.id AND k.parent <> '' AND k.finished_at = 0 ORDER BY k.n LIMIT 1), ''),
COALESCE((SELECT p.n FROM approvals p WHERE p.request = r.id AND p.state = 'open' ORDER BY p.n LIMIT 1), 0),
COALESCE((SELECT p.asked_at FROM approvals p WHERE p.request = r.id AND p.state = 'open' ORDER BY p.n LIMIT 1), 0)
FROM requests r JOIN agents a ON a.id = r.agent JOIN conversations c ON c.id = r.conversation
WHERE r.` + unfinished + ` AND (? = '' OR r.conversation = ? OR r.state = 'running') ORDER BY r.n`
	liveNotifications = selectNotification + ` WHERE n.id IN (SELECT l.id FROM notifications l WHERE l.` + live + `) AND (? = '' OR n.conversation = ?)`
	lostNotifications = selectNotification + ` WHERE n.id IN (SELECT l.id FROM notifications l WHERE l.state = 'dropped') AND (? = '' OR n.conversation = ?)
AND (n.reason = '` + reasonLimit + `' OR n.created_at >= ?)`
	activeConversations = selectConversation + ` WHERE c.id = ?
OR c.id IN (SELECT r.conversation FROM requests r WHERE r.finished_at = 0)
OR (? = '' AND (c.id IN (SELECT n.conversation FROM notifications n WHERE n.` + live + `)
  OR c.id IN (SELECT n.conversation FROM notifications n WHERE n.state = 'dropped' AND (n.reason = '` + reasonLimit + `' OR n.created_at >= ?))))
ORDER BY c.name`
)

// Activity reads the work under way in one conversation, or in all.
func (s Watch) Activity(ctx context.Context, q ActivityQuery) (Activity, error) {
	const op = "read activity"
	var out Activity
	c, since := q.Conversation, ms(q.DroppedSince)
	err := s.e.snapshot(ctx, func(r querier) error {
		out = Activity{}
		var err error
		if out.PausedAll, err = allPaused(ctx, r); err != nil {
			return err
		}
		if out.Requests, err = many(ctx, r, scanUnderway, underway, c, c); err != nil {
			return err
		}
		if out.Notifications, err = many(ctx, r, scanNotification, liveNotifications+` UNION ALL `+lostNotifications+` ORDER BY 1`,
			c, c, c, c, since); err != nil {
			return err
		}
		out.Pauses, err = many(ctx, r, func(sc scanner) (b Pause, err error) { err = sc.Scan(&b.Conversation, &b.Owner); return b, err },
			`SELECT conversation, owner FROM brakes WHERE ? = '' OR conversation = ? ORDER BY conversation, owner`, c, c)
		if err != nil {
			return err
		}
		out.Conversations, err = many(ctx, r, scanConversation, activeConversations, c, c, since)
		return err
	})
	return out, s.explain(op, err)
}

func scanUnderway(sc scanner) (Underway, error) {
	var u Underway
	var until, tool, asked int64
	var err error
	u.Request, err = requestRow(sc, &u.AgentName, &u.ConversationName, &u.AddressedName, &until, &u.Calls, &u.Tool, &tool, &u.Child, &u.Approval, &asked)
	u.WaitUntil, u.ToolSince, u.Asked = at(until), at(tool), at(asked)
	return u, err
}

func scanNotification(sc scanner) (NotificationInfo, error) {
	var n NotificationInfo
	var created int64
	err := sc.Scan(&n.ID, &n.Conversation, &n.Seq, &n.Agent, &n.Chain, &n.Depth, &n.State, &n.Reason, &n.Request, &created, &n.AgentName)
	n.CreatedAt = at(created)
	return n, err
}

// Notifications returns the notifications that match, in any state, sorted by seq. It
// fails with Invalid if f names neither a conversation nor a request.
func (s Watch) Notifications(ctx context.Context, f NotificationFilter) ([]NotificationInfo, error) {
	const op = "read notifications"
	if f.Conversation == "" && f.Request == "" {
		return nil, fika.Errorf(fika.Invalid, op, "neither a conversation nor a request is named")
	}
	text, args := selectNotification+` WHERE `, []any{}
	if f.Request != "" {
		text += `n.request = ? AND n.request <> ''`
		args = append(args, f.Request)
	} else {
		text += `n.conversation = ?`
		args = append(args, f.Conversation)
	}
	if f.Request != "" && f.Conversation != "" {
		text += ` AND n.conversation = ?`
		args = append(args, f.Conversation)
	}
	if f.Seq != 0 {
		text += ` AND n.seq = ?`
		args = append(args, f.Seq)
	}
	if f.Agent != "" {
		text += ` AND n.agent = ?`
		args = append(args, f.Agent)
	}
	all, err := many(ctx, s.r, scanNotification, text+` ORDER BY n.seq, n.id`, args...)
	return all, s.explain(op, err)
}

// EntryBySeq returns one entry of a conversation, expired or not. It fails with
// NotFound.
func (s Transcripts) EntryBySeq(ctx context.Context, c fika.ConversationID, seq int64) (fika.Entry, error) {
	const op = "read entry"
	e, ok, err := one(ctx, s.r, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.seq = ?`, c, seq)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "no entry %d in this conversation", seq)
	}
	return e, s.explain(op, err)
}
