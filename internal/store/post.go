package store

import (
	"context"
	"slices"
	"time"

	"fika"
)

// Post is a message that a person, or a tool of an agent, puts into a conversation.
type Post struct {
	Conversation fika.ConversationID
	ID           fika.EntryID // empty: made by the store; repeating a known id changes nothing
	From         string
	Writer       fika.Writer
	WriterName   string
	Content      string
	ReplyTo      fika.EntryID
	Notify       []fika.AgentName // agents that it concerns: already resolved, existing
	TTL          time.Duration    // 0: never expires
	Chain        fika.RequestID   // empty: the post roots a new chain
	Depth        int              // of the post; its notifications carry the same
	Rights       *fika.Rights     // what those agents may do at most because of it
	Taint        string           // the outside source of its text; empty: none
	Attachments  []fika.Attachment
	// Steer means that a person's message in a chat, for one agent that has a turn under way
	// there, waits for that turn as an [Input] instead of being posted.
	Steer bool
	// Accepts is the plan that the message accepts: with it, the chat gets Mode. It has to be
	// the newest plan of a chat in plan mode; else the error is of kind Conflict, and nothing
	// is posted.
	Accepts fika.EntryID
	Mode    fika.Mode
}

// Posted reports what [Transcripts.Post] or [Transcripts.Deliver] committed.
type Posted struct {
	Entry    fika.Entry
	Notified []fika.AgentName
	Paused   bool   // the conversation, or everything, is paused, so notifications wait
	Repeat   bool   // the id was known; Entry is the stored one
	Input    *Input // the message waits for a turn; then there is no Entry
}

// Send is a message from one context to another; see [Transcripts.Deliver].
type Send struct {
	To         fika.AgentID
	ID         fika.EntryID // empty: made by the store; repeating a known id changes nothing
	From       string
	Writer     fika.Writer
	WriterName string
	Content    string
	At         time.Time // zero: now
	Chain      fika.RequestID
	Depth      int
	Rights     *fika.Rights // what the recipient may do at most because of it
	Taint      string       // the outside source of its text; empty: none
}

// Post appends a message with its notifications; mentioned agents join the chat. It
// fails with NotFound if the conversation or an agent in Notify does not exist.
func (s Transcripts) Post(ctx context.Context, p Post) (Posted, error) {
	var out Posted
	err := s.writeWith(ctx, "post", durable, func(ctx context.Context, t *tx) error {
		var c fika.Conversation
		var f posting
		there := false
		err := t.begin(ctx, append([]statement{conversationsIn(t).locking(&c, &there, p.Conversation)}, f.asking(p)...)...)
		switch {
		case err != nil:
			return err
		case !there:
			return noConversation(p.Conversation)
		case p.Accepts != "" && !f.repeat:
			if err := postsIn(t).accept(ctx, &c, p); err != nil {
				return err
			}
		case p.Steer && c.Kind == fika.Chat && f.at.request != "":
			out, err = inputsIn(t).queue(ctx, c, p, f)
			return err
		}
		out, err = postsIn(t).post(ctx, c, p, f, time.Time{})
		return err
	})
	return out, err
}

// posting holds the facts needed to store a message, read together once its
// conversation is locked.
type posting struct {
	paused string // '1': everything is paused
	known  fika.Entry
	repeat bool   // its id is known
	chain  bool   // its chain is known
	writer string // id of the agent that writes; empty: no agent has that name
	told   recipients
	at     worker // the turn that the message waits for; zero: none
}

func (f *posting) asking(p Post) []statement {
	*f = posting{}
	var list []statement
	for _, name := range onceEach(p.Notify) {
		list = append(list, f.told.ask(name))
	}
	list = append(list, first(&f.paused, nil, scanText, `SELECT value FROM meta WHERE key = 'paused_all'`),
		first(&f.writer, nil, scanText, `SELECT id FROM agents WHERE name = ?`, p.writer()))
	if p.ID != "" {
		list = append(list, first(&f.known, &f.repeat, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.id = ?`, p.Conversation, p.ID))
	}
	if p.Steer && len(p.Notify) == 1 && p.Writer == fika.ByHuman {
		list = append(list, first(&f.at, nil, scanWorker, underWay, p.Conversation, p.Notify[0], p.Notify[0]))
	}
	if p.Chain != "" {
		var root string
		list = append(list, first(&root, &f.chain, scanText, `SELECT root FROM chains WHERE root = ?`, p.Chain))
	}
	return list
}

// writer returns the name of the writer.
func (p Post) writer() string {
	if p.WriterName != "" && p.Writer == fika.ByAgent {
		return p.WriterName
	}
	return p.From
}

// self returns the agent that writes, which is not notified of its own words; "" if
// the writer is not an agent.
func (p Post) self() fika.AgentName {
	if p.Writer == fika.ByAgent {
		return fika.AgentName(p.WriterName)
	}
	return ""
}

// Deliver puts a message with a notification into the recipient's active ask
// conversation; an inbox is nothing more. For a pool the recipient is a member. It
// fails with NotFound.
func (s Transcripts) Deliver(ctx context.Context, m Send) (Posted, error) {
	var out Posted
	err := s.write(ctx, "deliver", func(ctx context.Context, t *tx) error {
		a, err := agentByID(ctx, t, m.To)
		if err != nil {
			return err
		}
		if a.IsPool() {
			if known, err := postsIn(t).delivered(ctx, m); err != nil || known != nil {
				out = Posted{Repeat: true}
				if known != nil {
					out.Entry = *known
				}
				return err
			}
			if a, err = poolsIn(t).choose(ctx, m.To, "", func(a fika.Agent) bool { return string(a.Name) == m.WriterName }); err != nil {
				return err
			}
			m.To = a.ID
		}
		c, err := agentsIn(t).activeAsk(ctx, m.To)
		if err != nil {
			return err
		}
		if c, err = conversationsIn(t).lock(ctx, c.ID); err != nil {
			return err
		}
		if known, err := postsIn(t).delivered(ctx, m); err != nil || known != nil {
			if known != nil {
				out = Posted{Entry: *known, Repeat: true, Paused: c.Paused}
			}
			return err
		}
		p := Post{
			Conversation: c.ID, ID: m.ID, From: m.From, Writer: m.Writer, WriterName: m.WriterName,
			Content: m.Content, Notify: []fika.AgentName{a.Name}, Chain: m.Chain, Depth: m.Depth, Rights: m.Rights, Taint: m.Taint,
		}
		var f posting
		if err := t.run(ctx, f.asking(p)...); err != nil {
			return err
		}
		out, err = postsIn(t).post(ctx, c, p, f, m.At)
		return err
	})
	return out, err
}

// postRows writes messages and their notifications.
type postRows struct{ *tx }

func postsIn(t *tx) postRows { return postRows{t} }

// delivered returns a message that was delivered before, even if the recipient has
// another active conversation by now; nil if there is none.
func (t postRows) delivered(ctx context.Context, m Send) (*fika.Entry, error) {
	if m.ID == "" {
		return nil, nil
	}
	e, ok, err := one(ctx, t, scanEntry, selectEntry+` JOIN conversations c ON c.id = e.conversation
WHERE c.agent IN (SELECT a.id FROM agents a WHERE a.id = ? OR (a.pool = ? AND a.pool <> '')) AND c.agent <> '' AND c.kind = 'ask' AND e.id = ?`, m.To, m.To, m.ID)
	if err != nil || !ok {
		return nil, err
	}
	t.discard = true
	return &e, nil
}

// post stores a message, its chain and its notifications, and makes the writer and
// the agents notified participants.
func (t postRows) post(ctx context.Context, c fika.Conversation, p Post, f posting, when time.Time) (Posted, error) {
	out := Posted{Paused: c.Paused || f.paused == "1"}
	if f.repeat {
		out.Entry, out.Repeat, t.discard = f.known, true, true
		return out, nil
	}
	if p.ID == "" {
		p.ID = fika.EntryID(t.newID())
	}
	if !f.chain {
		p.Chain = ""
	}
	chain, depth, err := chainsIn(t.tx).chainOf(ctx, c.ID, p.Chain, p.Depth, fika.RequestID(p.ID), personOf(p.From, p.Writer), len(p.Notify) > 0)
	if err != nil {
		return out, err
	}
	e := fika.Entry{
		Conversation: c.ID, ID: p.ID, At: when, From: p.From, To: string(c.Name), Content: p.Content, Type: fika.Message,
		ReplyTo: p.ReplyTo, Chain: chain, Depth: depth, Meta: fika.EntryMeta{Writer: p.Writer, WriterName: p.WriterName, Taint: fika.Taint{From: p.Taint}, Attachments: p.Attachments},
	}
	if c.Kind != fika.Chat && len(p.Notify) == 1 {
		e.To = string(p.Notify[0])
	}
	if p.TTL > 0 {
		e.ExpiresAt = at(t.now + p.TTL.Milliseconds())
	}
	if err := t.append(ctx, &e); err != nil {
		return out, err
	}
	out.Entry = e
	if c.Kind == fika.Chat {
		if err := t.joinWriter(ctx, c.ID, p, f); err != nil {
			return out, err
		}
	}
	out.Notified, err = t.notify(ctx, c, e, f.told.without(p.self()), p.Rights, "")
	return out, err
}

// joinWriter makes the writer of a chat message a participant, if it is an agent or a
// person.
func (t postRows) joinWriter(ctx context.Context, c fika.ConversationID, p Post, f posting) error {
	name := p.writer()
	switch {
	case f.writer != "" && p.Writer == fika.ByAgent:
		return conversationsIn(t.tx).join(ctx, c, fika.AgentID(f.writer), "")
	case p.Writer == fika.ByAgent || p.Writer == fika.ByTool || p.Writer == fika.BySystem || name == "":
		return nil
	}
	return conversationsIn(t.tx).join(ctx, c, "", name)
}

// recipients lists the agents that a message concerns, each once.
type recipients []*recipient

type recipient struct {
	name fika.AgentName
	id   string // empty: no agent has that name
	pool bool   // a pool: one of its members is notified
	skip bool   // nobody is to be notified
}

// ask adds an agent and returns the statement that reads its id.
func (r *recipients) ask(name fika.AgentName) statement {
	one := &recipient{name: name}
	*r = append(*r, one)
	return first(one, nil, func(s scanner) (r recipient, err error) {
		r.name = name
		return r, s.Scan(&r.id, flag{&r.pool})
	}, `SELECT id, CASE WHEN instances > 0 THEN 1 ELSE 0 END FROM agents WHERE name = ?`, name)
}

// without removes the agent that wrote the message.
func (r recipients) without(self fika.AgentName) recipients {
	return slices.DeleteFunc(r, func(one *recipient) bool { return one.name == self })
}

// onceEach returns names in their order without repetitions.
func onceEach(names []fika.AgentName) []fika.AgentName {
	var out []fika.AgentName
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// notify stores a notification of e, which is new, for each recipient in told, and
// returns those who got one. What they do because of it is bounded by rights. If
// limit is not empty, the notifications are stored as dropped by it, so that
// continuing the chain finds them. In a chat the recipients join. notify fails with
// NotFound if an agent does not exist.
func (t postRows) notify(ctx context.Context, c fika.Conversation, e fika.Entry, told recipients, rights *fika.Rights, limit string) ([]fika.AgentName, error) {
	state, reason := fika.NotificationPending, ""
	if limit != "" {
		state, reason = fika.NotificationDropped, reasonLimit
	}
	bound, err := rightsJSON("notify", rights)
	if err != nil {
		return nil, err
	}
	var names []fika.AgentName
	for _, one := range told {
		if one.id == "" {
			return nil, fika.Errorf(fika.NotFound, "notify", "agent %q not found", one.name)
		}
		if one.pool {
			if err := t.assign(ctx, c.ID, one, told, e.Meta.WriterName); err != nil {
				return nil, err
			}
		}
		if one.skip {
			continue
		}
		if err := t.put(ctx, `INSERT INTO notifications (conversation, seq, agent, chain, depth, state, reason, rights, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, c.ID, e.Seq, one.id, e.Chain, e.Depth, state, reason, bound, t.now); err != nil {
			return nil, err
		}
		if c.Kind == fika.Chat {
			if err := conversationsIn(t.tx).join(ctx, c.ID, fika.AgentID(one.id), ""); err != nil {
				return nil, err
			}
		}
		names = append(names, one.name)
	}
	t.told(e).data.Notify = names
	return names, nil
}
