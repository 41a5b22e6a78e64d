package sqlstore

import (
	"context"
	"strings"

	"fika"
	"fika/internal/store"
)

// pausedAll is the brake for all conversations, as a column.
const pausedAll = `(SELECT m.value = '1' FROM meta m WHERE m.key = 'paused_all')`

func allPaused(ctx context.Context, q querier) (bool, error) {
	v, _, err := one(ctx, q, scanText, `SELECT value FROM meta WHERE key = 'paused_all'`)
	return v == "1", err
}

func (t *tx) allPaused(ctx context.Context) (bool, error) { return allPaused(ctx, t) }

// narrowed restricts a query for work to one conversation, its first argument.
func narrowed(query string) string {
	return strings.Replace(query, `WHERE `, `WHERE c.id = ? AND `, 1)
}

func workers(w []store.Work) []fika.AgentName {
	var names []fika.AgentName
	for _, a := range w {
		names = append(names, a.Agent)
	}
	return names
}

// SetPaused pauses or resumes one conversation.
func (s *Store) SetPaused(ctx context.Context, c fika.ConversationID, paused bool) ([]fika.AgentName, error) {
	const op = "pause conversation"
	var ring []fika.AgentName
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE conversations SET paused = ? WHERE id = ?`, paused, c)
		if err != nil {
			return err
		}
		if n == 0 {
			return fika.Errorf(fika.NotFound, op, "no conversation with id %q", c)
		}
		tasks, err := many(ctx, t, scanText, below, c)
		if err != nil {
			return err
		}
		for _, id := range tasks {
			if _, err := t.exec(ctx, `UPDATE conversations SET paused = ? WHERE id = ?`, paused, id); err != nil {
				return err
			}
		}
		if paused {
			return nil
		}
		ring = nil
		for _, id := range append(tasks, string(c)) {
			w, err := s.withWork(ctx, t, fika.ConversationID(id))
			if err != nil {
				return err
			}
			ring = append(ring, workers(w)...)
		}
		return nil
	})
	return ring, err
}

// SetAllPaused stores the brake for all conversations.
func (s *Store) SetAllPaused(ctx context.Context, paused bool) ([]fika.AgentName, error) {
	var ring []fika.AgentName
	err := s.write(ctx, "pause all", func(ctx context.Context, t *tx) error {
		value := "0"
		if paused {
			value = "1"
		}
		if _, err := t.exec(ctx, `UPDATE meta SET value = ? WHERE key = 'paused_all'`, value); err != nil || paused {
			return err
		}
		w, err := s.withWork(ctx, t, "")
		ring = workers(w)
		return err
	})
	return ring, err
}

// AllPaused reads the brake for all conversations.
func (s *Store) AllPaused(ctx context.Context) (bool, error) {
	p, err := allPaused(ctx, s.r)
	return p, s.explain("read brake", err)
}

// StopChat drops what waits in a conversation and cancels what runs in it.
func (s *Store) StopChat(ctx context.Context, c fika.ConversationID) (store.Dropped, error) {
	var out store.Dropped
	err := s.write(ctx, "stop chat", func(ctx context.Context, t *tx) error {
		out = store.Dropped{}
		if _, err := conversationByID(ctx, t, c); err != nil {
			return err
		}
		n, err := t.exec(ctx, `UPDATE notifications SET state = 'dropped', reason = ? WHERE conversation = ? AND state = 'pending'`, reasonStopped, c)
		if err != nil {
			return err
		}
		out.Notifications = int(n)
		active, err := many(ctx, t, scanText, `SELECT id FROM requests WHERE conversation = ? AND finished_at = 0 ORDER BY n`, c)
		if err != nil {
			return err
		}
		for _, id := range active {
			if err := t.cancel(ctx, fika.RequestID(id), reasonStopped); err != nil {
				return err
			}
			out.Requests = append(out.Requests, fika.RequestID(id))
		}
		return nil
	})
	return out, err
}

// stoppedHere picks what a limit has stopped in a conversation (its two
// arguments), or elsewhere in a chain that began there.
const stoppedHere = `n.state = 'dropped' AND n.reason = 'limit'
AND (n.conversation = ? OR n.chain IN (SELECT ch.root FROM chains ch WHERE ch.conversation = ? AND ch.limit_hit <> ''))`

// ContinueChain makes what a limit dropped pending again.
func (s *Store) ContinueChain(ctx context.Context, c fika.ConversationID) ([]fika.AgentName, error) {
	const op = "continue chain"
	var ring []fika.AgentName
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		var err error
		ring, err = many(ctx, t, func(sc scanner) (n fika.AgentName, err error) { err = sc.Scan(&n); return n, err },
			`SELECT DISTINCT a.name FROM notifications n JOIN agents a ON a.id = n.agent WHERE `+stoppedHere+` ORDER BY a.name`, c, c)
		if err != nil {
			return err
		}
		if len(ring) == 0 {
			return fika.Errorf(fika.NotFound, op, "no limit has stopped anything here")
		}
		root := fika.RequestID(s.opt.NewID())
		if _, _, err := t.chainFor(ctx, c, "", 0, root, true); err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE notifications SET state = 'pending', reason = '', request = '', chain = ?, depth = 0
WHERE id IN (SELECT n.id FROM notifications n WHERE `+stoppedHere+`)`, root, c, c)
		return err
	})
	return ring, err
}
