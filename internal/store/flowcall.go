package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fika"
	"fika/internal/workflow"
)

// StepRequestID returns the id of the request that a row of a run begins. It is
// derived from the row, so that one row never has two requests.
func StepRequestID(row string) fika.RequestID {
	return fika.RequestID(ownUUID("workflow step\x00" + row))
}

// call begins the work of a row.
func (a *applying) call(ctx context.Context, c workflow.Call) error {
	switch c.Kind {
	case workflow.KindChat:
		return a.beginDiscussion(ctx, c)
	case workflow.KindApproval:
		return a.askPerson(ctx, c)
	case workflow.KindPost:
		return nil // see postAll
	}
	p := fika.Payload{Prompt: c.Prompt, From: a.speaker(), Writer: a.view.Writer, Background: true}
	if n := a.row(c.Row).Attempt; n > 1 {
		p.Attempt = n
	}
	if c.JSON {
		p.Form = &fika.AnswerForm{Schema: c.Schema}
	}
	taint, err := a.taintOf(ctx, c)
	if err != nil {
		return err
	}
	n := NewRequest{
		ID: StepRequestID(c.Row), Kind: fika.TaskRequest, Origin: fika.Queued, Agent: fika.AgentID(a.agents[c.Agent].id), Parent: a.view.Request, Payload: p, Rights: a.rights, Taint: taint,
		Chain: a.chain, Depth: a.depth,
	}
	wake := fika.AgentName(c.Agent)
	member, bound, err := a.memberWithin(ctx, c)
	if err != nil {
		return err
	}
	if bound {
		n.Agent, n.addressed, wake = member.ID, n.Agent, member.Name
	}
	acc, err := requestsIn(a.tx).accept(ctx, n)
	if err == nil && acc.Repeat {
		err = fika.Errorf(fika.Conflict, "advance run", "request %s exists already", acc.Request.ID)
	}
	if err != nil {
		return err
	}
	a.out.Wake = append(a.out.Wake, wake)
	if err := a.put(ctx, `UPDATE conversations SET run = ? WHERE id = ?`, a.view.ID, acc.Conversation.ID); err != nil {
		return err
	}
	return a.put(ctx, `UPDATE flow_steps SET request = ?, agent = ?, chain = ?, begun_at = ? WHERE id = ?`,
		acc.Request.ID, c.Agent, a.ownChain(acc.Request.Chain), a.now, c.Row)
}

// memberWithin returns the member of a pool that last worked within the same item or
// repetition as a call: its worktree has what came before. It is none if that member
// has left the pool, or may not or cannot work now; then whoever is free takes over.
func (a *applying) memberWithin(ctx context.Context, c workflow.Call) (fika.Agent, bool, error) {
	pool := a.agents[c.Agent]
	if !pool.pool {
		return fika.Agent{}, false, nil
	}
	for _, path := range c.Within {
		if m, found, err := a.memberAt(ctx, path, c.Agent, pool.id); found || err != nil {
			return m, found, err
		}
	}
	return fika.Agent{}, false, nil
}

// memberAt returns the member of a pool that last worked at a path or within it.
func (a *applying) memberAt(ctx context.Context, path, name, pool string) (fika.Agent, bool, error) {
	// All paths within one begin with it and one of # / [ ~.
	return one(ctx, a.tx, scanAgent, selectAgent+` JOIN requests q ON q.agent = a.id JOIN flow_steps s ON s.request = q.id AND s.request <> ''
WHERE s.run = ? AND s.path >= ? AND s.path < ? AND substr(s.path, ?, 1) IN ('', '#', '/', '[', '~') AND s.agent = ? AND a.pool = ?
AND a.desired NOT IN ('stopped', 'finish', 'now') AND a.state <> 'failed' ORDER BY s.begun_at DESC, q.n DESC LIMIT 1`,
		a.view.ID, path, path+"\x7f", len(path)+1, name, pool)
}

// taintOf returns the outside source of a call's prompt, if any. Text is not traced
// through lists, rounds and nested workflows: inside one, and for a call that reads
// its output, any taint in the run counts.
func (a *applying) taintOf(ctx context.Context, c workflow.Call) (string, error) {
	if a.taint != "" {
		return a.taint, nil
	}
	type source struct{ kind, taint string }
	anything := a.row(c.Row).Parent != ""
	if len(c.Sources) > 0 && !anything {
		args := []any{}
		for _, id := range c.Sources {
			args = append(args, id)
		}
		list, err := many(ctx, a.tx, func(sc scanner) (s source, err error) { return s, sc.Scan(&s.kind, &s.taint) },
			`SELECT kind, taint FROM flow_steps WHERE id IN (`+placeholders(len(args))+`)`, args...)
		if err != nil {
			return "", err
		}
		for _, s := range list {
			if s.taint != "" {
				return s.taint, nil
			}
			anything = anything || s.kind == workflow.KindEach || s.kind == workflow.KindRepeat || s.kind == workflow.KindWorkflow
		}
	}
	if !anything {
		return "", nil
	}
	taint, _, err := one(ctx, a.tx, scanText, `SELECT taint FROM flow_steps WHERE run = ? AND taint <> '' LIMIT 1`, a.view.ID)
	return taint, err
}

// row returns a row of the plan by its id.
func (a *applying) row(id string) workflow.Row {
	i := slices.IndexFunc(a.plan.Rows, func(r workflow.Row) bool { return r.ID == id })
	return a.plan.Rows[i] // every call belongs to a row of its plan
}

// beginDiscussion creates the chat of a row and posts the prompt in it.
func (a *applying) beginDiscussion(ctx context.Context, c workflow.Call) error {
	conv, err := conversationsIn(a.tx).newConversation(ctx, discussionName(a.view.Name, a.row(c.Row).Path, c.Row), fika.Chat, "")
	if err != nil {
		return err
	}
	if err := a.put(ctx, `UPDATE conversations SET run = ? WHERE id = ?`, a.view.ID, conv.ID); err != nil {
		return err
	}
	p := Post{
		Conversation: conv.ID, ID: fika.EntryID(StepRequestID(c.Row)), From: a.speaker(), Writer: a.view.Writer, WriterName: a.speaker(), Content: c.Prompt,
		Rights: a.rights, Chain: a.chain, Depth: a.depth,
	}
	if p.Taint, err = a.taintOf(ctx, c); err != nil {
		return err
	}
	for _, name := range c.Chat.Agents {
		p.Notify = append(p.Notify, fika.AgentName(name))
	}
	var f posting
	if err := a.run(ctx, f.asking(p)...); err != nil {
		return err
	}
	posted, err := postsIn(a.tx).post(ctx, conv, p, f, at(a.now))
	if err != nil {
		return err
	}
	a.out.Said = append(a.out.Said, Said{posted, conv})
	a.out.Wake = append(a.out.Wake, p.Notify...)
	call, err := toJSON("advance run", c.Chat)
	if err != nil {
		return err
	}
	return a.put(ctx, `UPDATE flow_steps SET conversation = ?, chain = ?, begun_at = ?, inputs = ? WHERE id = ?`, conv.ID, a.ownChain(posted.Entry.Chain), a.now, call, c.Row)
}

// discussionName names the chat of a row: words for people, then what makes the name
// unique.
func discussionName(flow, path, row string) fika.ConversationName {
	var b strings.Builder
	for _, c := range strings.ToLower(flow + "-" + path) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := b.String()
	return fika.ConversationName(strings.Trim(name[:min(len(name), 48)], "-") + "-" + row[:8])
}

// askPerson stores the question of a row.
func (a *applying) askPerson(ctx context.Context, c workflow.Call) error {
	path := a.row(c.Row).Path
	args, err := json.Marshal(workflow.Question{Run: string(a.view.ID), Step: path, Question: c.Prompt, Choice: c.Choice, Answer: c.Answer})
	if err != nil {
		return err
	}
	n, _, err := one(ctx, a.tx, scanInt, `INSERT INTO approvals (request, step, tool, args, what, bound, flow_step, asked_at, expires_at) VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?) RETURNING n`,
		a.view.Request, flowAgent, string(args), path, c.Row, c.Row, a.now, ms(c.Deadline))
	a.tellApproval(a.view.Run, n, ApprovalOpen)
	return err
}

// cancelStep ends whatever was begun for a row.
func (a *applying) cancelStep(ctx context.Context, id string) error {
	type begun struct{ request, conversation, agent string }
	b, ok, err := one(ctx, a.tx, func(sc scanner) (b begun, err error) { return b, sc.Scan(&b.request, &b.conversation, &b.agent) },
		`SELECT request, conversation, agent FROM flow_steps WHERE id = ?`, id)
	if err != nil || !ok {
		return err
	}
	switch {
	case b.request != "":
		a.out.Wake = append(a.out.Wake, fika.AgentName(b.agent))
		return a.cancel(ctx, fika.RequestID(b.request), "the run needs it no longer")
	case b.conversation != "":
		names, err := many(ctx, a.tx, func(sc scanner) (n fika.AgentName, err error) { return n, sc.Scan(&n) },
			`SELECT DISTINCT a.name FROM requests r JOIN agents a ON a.id = r.agent WHERE r.conversation = ? AND r.finished_at = 0`, b.conversation)
		if err != nil {
			return err
		}
		a.out.Wake = append(a.out.Wake, names...)
		_, err = pausesIn(a.tx).stopChat(ctx, fika.ConversationID(b.conversation), reasonStopped)
		return err
	}
	expired, err := many(ctx, a.tx, scanInt, `UPDATE approvals SET state = 'expired' WHERE flow_step = ? AND flow_step <> '' AND state = 'open' RETURNING n`, id)
	for _, n := range expired {
		a.tellApproval(a.view.Run, n, ApprovalExpired)
	}
	return err
}
