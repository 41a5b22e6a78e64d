package store

import (
	"context"
	"time"

	"fika"
)

// RunLine is what a person said in a chat to begin a run. It concerns no agent
// there: the run does what it asks for, and says its result in the same chat.
type RunLine struct {
	Chat fika.ConversationID
	Text string
	By   string // the username behind the name that NewRun has
	TTL  time.Duration
}

// RunLineID is the id of the entry with which a run was begun in a chat.
func RunLineID(run fika.RequestID) fika.EntryID {
	return fika.EntryID(ownUUID("run line\x00" + string(run)))
}

// beginInChat says in a chat what a run is begun with.
func (t flowRows) beginInChat(ctx context.Context, run fika.RequestID, n NewRun) error {
	c, err := conversationsIn(t.tx).lock(ctx, n.In.Chat)
	if err != nil {
		return err
	}
	p := Post{Conversation: c.ID, ID: RunLineID(run), From: n.From, Writer: fika.ByHuman, WriterName: n.In.By, Content: n.In.Text, TTL: n.In.TTL}
	var f posting
	if err := t.run(ctx, f.asking(p)...); err != nil {
		return err
	}
	if _, err := postsIn(t.tx).post(ctx, c, p, f, at(t.now)); err != nil {
		return err
	}
	// A run of a chat that is paused waits with it, unless somebody only holds the
	// chat for as long as they look: that ends by itself.
	return t.put(ctx, `UPDATE flow_runs SET chat = ?, paused_at = CASE WHEN EXISTS (SELECT 1 FROM brakes b WHERE b.conversation = ? AND b.owner = '')
THEN CAST(? AS BIGINT) ELSE 0 END WHERE id = ?`, c.ID, c.ID, t.now, run)
}

// sayInChat says what a run has come to in the chat where it was begun, if that
// is still there. It concerns no agent: what a result mentions is not called.
func (a *applying) sayInChat(ctx context.Context, text string) error {
	if a.view.Chat == "" || text == "" {
		return nil
	}
	c, err := conversationsIn(a.tx).lock(ctx, a.view.Chat)
	if fika.IsKind(err, fika.NotFound) {
		return nil // it has been deleted
	}
	if err != nil {
		return err
	}
	p := Post{
		Conversation: c.ID, ID: fika.EntryID(ownUUID("run result\x00" + string(a.view.Request))), From: flowAgent, Writer: fika.BySystem, WriterName: flowAgent,
		Content: text, ReplyTo: RunLineID(a.view.ID),
	}
	p.Taint, _, err = one(ctx, a.tx, scanText, `SELECT taint FROM flow_steps WHERE run = ? AND taint <> '' LIMIT 1`, a.view.ID)
	if err != nil {
		return err
	}
	var f posting
	if err := a.run(ctx, f.asking(p)...); err != nil {
		return err
	}
	posted, err := postsIn(a.tx).post(ctx, c, p, f, at(a.now))
	if err != nil {
		return err
	}
	a.out.Said = append(a.out.Said, Said{posted, c})
	return nil
}

// InChat lists the runs that go on and say their result in a chat, oldest first.
func (s Flows) InChat(ctx context.Context, chat fika.ConversationID) ([]Run, error) {
	all, err := many(ctx, s.r, scanRun, selectRun+` WHERE f.chat = ? AND f.chat <> '' AND f.ended_at = 0 ORDER BY f.begun_at, f.id`, chat)
	return all, s.explain("list runs", err)
}
