package store

import (
	"context"
	"time"

	"fika"
)

// CleanupOptions says what [Chats.Cleanup] may remove.
type CleanupOptions struct {
	DryRun   bool
	EmptyAge time.Duration // empty chats older than this
}

// CleanupResult reports what was removed, or would be.
type CleanupResult struct {
	Expired int // entries, of any type
	Chats   []fika.ConversationName
}

// expiredRows writes rows that are kept for a time and then removed.
type expiredRows struct{ *tx }

func expiredIn(t *tx) expiredRows { return expiredRows{t} }

// keepFor makes everything that a turn wrote in its chat expire at the same time.
// said are the entries that the caller returns; their expiry is set, too.
func (t expiredRows) keepFor(ctx context.Context, r turn, ttl time.Duration, said []fika.Entry) error {
	until := t.now + ttl.Milliseconds()
	err := t.put(ctx, `UPDATE entries SET expires_at = ? WHERE request = ? AND request <> '' AND conversation = ?`, until, r.id, r.conv.ID)
	for i := range said {
		if said[i].Request == r.id && said[i].Conversation == r.conv.ID {
			said[i].ExpiresAt = at(until)
		}
	}
	return err
}

// Cleanup removes, in one transaction, expired entries of chats, and chats that have
// had no messages for EmptyAge. Pinned entries stay, and so does everything in a chat
// with an unfinished request. Seqs are not reused; unanswered mentions are dropped
// with their message, with the reason "expired".
func (s Chats) Cleanup(ctx context.Context, o CleanupOptions) (CleanupResult, error) {
	var out CleanupResult
	err := s.write(ctx, "clean up", func(ctx context.Context, t *tx) error {
		out = CleanupResult{}
		t.discard = o.DryRun
		due, err := many(ctx, t, scanText, dueChats, t.now)
		if err != nil {
			return err
		}
		for _, c := range due {
			// From here on nothing begins in the chat; a turn that began after the
			// chat was found keeps the entries that it is about to read.
			if rests, err := expiredIn(t).lockAtRest(ctx, c); err != nil {
				return err
			} else if !rests {
				continue
			}
			n, err := expiredIn(t).removeExpired(ctx, fika.ConversationID(c))
			if err != nil {
				return err
			}
			out.Expired += int(n)
			t.tell(event{kind: ConversationEvent, conversation: fika.ConversationID(c), state: string(fika.Active), data: EventData{Removed: n}})
		}
		if err := expiredIn(t).removeEmptyChats(ctx, o, &out); err != nil {
			return err
		}
		t.discard = t.discard || len(due) == 0 && len(out.Chats) == 0
		return nil
	})
	return out, err
}

const (
	// atRest is true if chat c has no unfinished request: no turn loses entries that
	// it is about to read.
	atRest = `NOT EXISTS (SELECT 1 FROM requests r WHERE r.conversation = c.id AND r.finished_at = 0)`
	// dueChats takes the present time as its argument.
	dueChats = `SELECT c.id FROM conversations c WHERE c.kind = 'chat' AND ` + atRest + ` AND EXISTS (
SELECT 1 FROM entries e WHERE e.conversation = c.id AND` + isExpired + `) ORDER BY c.id`
	// isExpired takes the present time as its argument.
	isExpired = ` e.expires_at > 0 AND e.expires_at <= ? AND e.pinned = 0`
	// callsOfExpired joins the expired entries of one chat with their notifications,
	// starting from the entries because they are few (hence CROSS JOIN, which keeps
	// the order). It takes the chat and the present time.
	callsOfExpired = `entries e CROSS JOIN notifications n
WHERE n.conversation = e.conversation AND n.seq = e.seq AND e.conversation = ? AND` + isExpired
)

// removeExpired removes the expired entries of a chat in which no turn is under way,
// and settles their notifications and the message count.
func (t expiredRows) removeExpired(ctx context.Context, c fika.ConversationID) (int64, error) {
	for _, change := range []struct {
		text string
		args []any
	}{
		// A turn that was ended from outside could not set an expiry for its entries:
		// they go with the message that they were to answer.
		{`UPDATE entries SET expires_at = ? WHERE conversation || '' = ? AND expires_at = 0 AND pinned = 0 AND request <> '' AND request IN (
SELECT n.request FROM ` + callsOfExpired + ` AND n.request <> '' AND EXISTS (SELECT 1 FROM requests r WHERE r.id = n.request AND r.state <> 'done'))`,
			[]any{t.now, c, c, t.now}},
		// A message that is gone calls nobody.
		{`UPDATE notifications SET state = 'dropped', reason = '` + reasonExpired + `'
WHERE id IN (SELECT n.id FROM ` + callsOfExpired + `)
AND (state IN ('pending', 'dead') OR (state = 'dropped' AND reason = '` + reasonLimit + `'))`, []any{c, t.now}},
		{`UPDATE conversations SET messages = messages - (
SELECT count(*) FROM entries e WHERE e.conversation = conversations.id AND e.type = 'message' AND` + isExpired + `) WHERE id = ?`, []any{t.now, c}},
	} {
		if _, err := t.exec(ctx, change.text, change.args...); err != nil {
			return 0, err
		}
	}
	return t.exec(ctx, `DELETE FROM entries WHERE conversation = ? AND expires_at > 0 AND expires_at <= ? AND pinned = 0`, c, t.now)
}

// lockAtRest locks a chat and reports whether it is still at rest.
func (t expiredRows) lockAtRest(ctx context.Context, c string) (bool, error) {
	if !t.c.distant() {
		return true, nil
	}
	if err := t.lockAll(ctx, `SELECT c.id FROM conversations c WHERE c.id = ?`+lockConversation, c); err != nil {
		return false, err
	}
	_, rests, err := one(ctx, t, scanText, `SELECT c.id FROM conversations c WHERE c.id = ? AND `+atRest, c)
	return rests, err
}

func (t expiredRows) removeEmptyChats(ctx context.Context, o CleanupOptions, out *CleanupResult) error {
	type empty struct {
		id   fika.ConversationID
		name fika.ConversationName
	}
	if err := t.lockAll(ctx, `SELECT c.id FROM conversations c WHERE c.kind = 'chat' AND c.messages = 0 AND c.updated_at <= ? ORDER BY c.id`+lockConversation,
		t.now-o.EmptyAge.Milliseconds()); err != nil {
		return err
	}
	chats, err := many(ctx, t, func(sc scanner) (e empty, err error) { err = sc.Scan(&e.id, &e.name); return e, err },
		`SELECT c.id, c.name FROM conversations c WHERE c.kind = 'chat' AND c.messages = 0 AND c.updated_at <= ? AND `+atRest+`
AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.conversation = c.id AND e.pinned <> 0) ORDER BY c.name`,
		t.now-o.EmptyAge.Milliseconds())
	if err != nil {
		return err
	}
	for _, c := range chats {
		if err := t.put(ctx, noteDeleted, c.id); err != nil {
			return err
		}
		if _, err := t.tellConversations(ctx, Deleted, `DELETE FROM conversations WHERE id = ?`, c.id); err != nil {
			return err
		}
		out.Chats = append(out.Chats, c.name)
	}
	return nil
}
