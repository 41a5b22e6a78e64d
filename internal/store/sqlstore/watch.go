package sqlstore

import (
	"context"
	"database/sql"

	"fika"
	"fika/internal/store"
)

// frozen reads on one connection, as of one moment.
type frozen struct {
	d    dialect
	conn *sql.Conn
}

func (f frozen) query(ctx context.Context, text string, args ...any) (cursor, error) {
	rows, err := f.conn.QueryContext(ctx, f.d.rebind(text), args...)
	return cursor{Rows: rows}, err
}

// snapshot lets fn read as of one moment.
func (s *Store) snapshot(ctx context.Context, fn func(querier) error) error {
	conn, err := s.r.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Whatever becomes of the beginning, the connection goes back without a
	// transaction.
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`) }()
	if _, err := conn.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	return fn(frozen{s.d, conn})
}

// live is the condition of notifications_live, word for word: whoever asks for
// some of what is not settled must ask for it as well, or the database reads
// all that ever was.
const live = `state IN ('pending', 'claimed', 'dead')`

const (
	selectNotification = `SELECT n.id, n.conversation, n.seq, n.agent, n.chain, n.depth, n.state, n.reason, n.request, n.created_at, a.name
FROM notifications n JOIN agents a ON a.id = n.agent`
	underway = `SELECT ` + requestColumns + `, a.name, c.name, r.wait_until,
(SELECT count(*) FROM steps s WHERE s.request = r.id AND s.kind = 'model'),
COALESCE((SELECT s.tool FROM steps s WHERE s.request = r.id AND s.state = 'started' AND s.kind = 'tool' ORDER BY s.n DESC LIMIT 1), ''),
COALESCE((SELECT s.started_at FROM steps s WHERE s.request = r.id AND s.state = 'started' AND s.kind = 'tool' ORDER BY s.n DESC LIMIT 1), 0),
COALESCE((SELECT k.id FROM requests k WHERE k.parent = r.id AND k.parent <> '' AND k.finished_at = 0 ORDER BY k.n LIMIT 1), '')
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

// Activity reads what goes on in one conversation, or in all.
func (s *Store) Activity(ctx context.Context, q store.ActivityQuery) (store.Activity, error) {
	const op = "read activity"
	var out store.Activity
	c, since := q.Conversation, ms(q.DroppedSince)
	err := s.snapshot(ctx, func(r querier) error {
		out = store.Activity{}
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
		out.Brakes, err = many(ctx, r, func(sc scanner) (b store.Brake, err error) { err = sc.Scan(&b.Conversation, &b.Owner); return b, err },
			`SELECT conversation, owner FROM brakes WHERE ? = '' OR conversation = ? ORDER BY conversation, owner`, c, c)
		if err != nil {
			return err
		}
		out.Conversations, err = many(ctx, r, scanConversation, activeConversations, c, c, since)
		return err
	})
	return out, s.explain(op, err)
}

func scanUnderway(sc scanner) (store.Underway, error) {
	var u store.Underway
	var until, tool int64
	var err error
	u.Request, err = requestRow(sc, &u.AgentName, &u.ConversationName, &until, &u.Calls, &u.Tool, &tool, &u.Child)
	u.WaitUntil, u.ToolSince = at(until), at(tool)
	return u, err
}

func scanNotification(sc scanner) (store.NotificationInfo, error) {
	var n store.NotificationInfo
	var created int64
	err := sc.Scan(&n.ID, &n.Conversation, &n.Seq, &n.Agent, &n.Chain, &n.Depth, &n.State, &n.Reason, &n.Request, &created, &n.AgentName)
	n.CreatedAt = at(created)
	return n, err
}

// Notifications reads notifications in whatever state, by seq.
func (s *Store) Notifications(ctx context.Context, f store.NotificationFilter) ([]store.NotificationInfo, error) {
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

// EntryBySeq finds one entry of a conversation, expired or not.
func (s *Store) EntryBySeq(ctx context.Context, c fika.ConversationID, seq int64) (fika.Entry, error) {
	const op = "read entry"
	e, ok, err := one(ctx, s.r, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.seq = ?`, c, seq)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "no entry %d in this conversation", seq)
	}
	return e, s.explain(op, err)
}
