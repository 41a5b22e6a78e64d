package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/text/hint"
	"fika/internal/workflow"
)

// RunLine is the line with which a person began a run in a chat. It notifies no agent
// there: the run does what the line asks for and posts its result in the same chat.
type RunLine struct {
	Chat fika.ConversationID
	Text string
	By   string // the username behind the name in [NewRun.From]
	TTL  time.Duration
}

// RunLineID returns the id of the entry with which a run was begun in a chat.
func RunLineID(run fika.RequestID) fika.EntryID {
	return fika.EntryID(ownUUID("run line\x00" + string(run)))
}

// beginInChat posts the line with which a run is begun in its chat.
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
	// A run begun in a paused chat is paused with it, unless somebody only holds the
	// chat for as long as they watch it: such a pause ends by itself.
	return t.put(ctx, `UPDATE flow_runs SET chat = ?, paused_at = CASE WHEN EXISTS (SELECT 1 FROM brakes b WHERE b.conversation = ? AND b.owner = '')
THEN CAST(? AS BIGINT) ELSE 0 END WHERE id = ?`, c.ID, c.ID, t.now, run)
}

// sayInChat posts the result of a run in the chat where it was begun, if that still
// exists. The post notifies no agent: mentions in a result call nobody.
func (a *applying) sayInChat(ctx context.Context, text string) error {
	if a.view.Chat == "" || text == "" {
		return nil
	}
	c, err := conversationsIn(a.tx).lock(ctx, a.view.Chat)
	if fika.IsKind(err, fika.NotFound) {
		return nil // the chat has been deleted
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
	return a.sayIn(ctx, c, p)
}

// postAll makes the posts of a plan: each is in its chat, and its step has ended, in the
// commit that stores the plan, so that no crash posts twice or not at all. A post
// notifies no agent: mentions in it call nobody.
func (a *applying) postAll(ctx context.Context) error {
	type post struct {
		workflow.Call
		in fika.ConversationID // empty: there is no such chat
	}
	var posts []post
	for _, c := range a.plan.Calls {
		if c.Kind == workflow.KindPost {
			id, _, err := one(ctx, a.tx, scanText, `SELECT id FROM conversations WHERE name = ? AND kind = 'chat'`, c.Post)
			if err != nil {
				return err
			}
			posts = append(posts, post{c, fika.ConversationID(id)})
		}
	}
	slices.SortStableFunc(posts, func(p, q post) int { return cmp.Compare(p.in, q.in) }) // the order in which everybody locks them
	for _, p := range posts {
		err := fika.WithHint(fika.Errorf(fika.NotFound, "", "chat %s not found", p.Post), hint.ChatCreate.With(p.Post))
		if p.in != "" {
			err = a.postStep(ctx, p.Call, p.in)
		}
		if fika.IsKind(err, fika.NotFound) { // it may have been deleted just now
			err = a.put(ctx, `UPDATE flow_steps SET state = ?, reason = ?, error = ?, ended_at = ?, taken = 0 WHERE id = ?`,
				workflow.Failed, string(fika.NotFound), err.Error(), a.now, p.Row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// postStep posts the text of a step and ends the step.
func (a *applying) postStep(ctx context.Context, call workflow.Call, in fika.ConversationID) error {
	c, err := conversationsIn(a.tx).lock(ctx, in)
	if err != nil {
		return err
	}
	p := Post{
		Conversation: in, ID: fika.EntryID(StepRequestID(call.Row)), From: flowAgent, Writer: fika.BySystem, WriterName: flowAgent, Content: call.Prompt,
	}
	if p.Taint, err = a.taintOf(ctx, call); err != nil {
		return err
	}
	if err := a.sayIn(ctx, c, p); err != nil {
		return err
	}
	if err := a.put(ctx, `UPDATE flow_steps SET state = ?, ended_at = ?, taken = 0, source = id, conversation = ?, taint = ? WHERE id = ?`,
		workflow.Done, a.now, in, p.Taint, call.Row); err != nil {
		return err
	}
	return flowsIn(a.tx).putOutput(ctx, a.view.ID, call.Row, false, call.Prompt)
}

// sayIn posts a message in a chat that is locked.
func (a *applying) sayIn(ctx context.Context, c fika.Conversation, p Post) error {
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

// InChat lists the unfinished runs that post their result in a chat, oldest first.
func (s Flows) InChat(ctx context.Context, chat fika.ConversationID) ([]Run, error) {
	all, err := many(ctx, s.r, scanRun, selectRun+` WHERE f.chat = ? AND f.chat <> '' AND f.ended_at = 0 ORDER BY f.begun_at, f.id`, chat)
	return all, s.explain("list runs", err)
}
