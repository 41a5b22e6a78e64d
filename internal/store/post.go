package store

import (
	"context"
	"slices"
	"time"

	"fika"
)

// Post is a message a person (or a tool of an agent) puts into a conversation.
type Post struct {
	Conversation fika.ConversationID
	ID           fika.EntryID // empty: made by the store; a repeat of a known id changes nothing
	From         string
	Writer       fika.Writer
	WriterName   string
	Content      string
	ReplyTo      fika.EntryID
	Notify       []fika.AgentName // whom it concerns: already resolved, existing
	TTL          time.Duration    // 0: never expires
	Chain        fika.RequestID   // empty: the post roots a new chain
	Depth        int              // of the post; its notifications carry the same
}

// Posted tells what [Conversations.Post] committed.
type Posted struct {
	Entry    fika.Entry
	Notified []fika.AgentName
	Paused   bool // the conversation, or everything, is paused: notifications wait
	Repeat   bool // the id was known; Entry is the stored one
}

// Send is a message from one context to another ([Peers]).
type Send struct {
	To         fika.AgentID
	ID         fika.EntryID // empty: made; a repeat changes nothing
	From       string
	Writer     fika.Writer
	WriterName string
	Content    string
	At         time.Time // zero: now
	Chain      fika.RequestID
	Depth      int
}

// Post appends a message with its notifications; mentioned agents join.
func (s Transcripts) Post(ctx context.Context, p Post) (Posted, error) {
	var out Posted
	err := s.write(ctx, "post", func(ctx context.Context, t *tx) error {
		c, err := t.lock(ctx, p.Conversation)
		if err != nil {
			return err
		}
		out, err = t.post(ctx, c, p, time.Time{})
		return err
	})
	return out, err
}

// Deliver puts a message with a notification into the recipient's active
// ask conversation: that is all an inbox is.
func (s Transcripts) Deliver(ctx context.Context, m Send) (Posted, error) {
	var out Posted
	err := s.write(ctx, "deliver", func(ctx context.Context, t *tx) error {
		a, err := agentByID(ctx, t, m.To)
		if err != nil {
			return err
		}
		c, err := t.activeAsk(ctx, m.To)
		if err != nil {
			return err
		}
		if c, err = t.lock(ctx, c.ID); err != nil {
			return err
		}
		if known, err := t.delivered(ctx, m); err != nil || known != nil {
			if known != nil {
				out = Posted{Entry: *known, Repeat: true, Paused: c.Paused}
			}
			return err
		}
		out, err = t.post(ctx, c, Post{
			Conversation: c.ID, ID: m.ID, From: m.From, Writer: m.Writer, WriterName: m.WriterName,
			Content: m.Content, Notify: []fika.AgentName{a.Name}, Chain: m.Chain, Depth: m.Depth,
		}, m.At)
		return err
	})
	return out, err
}

// delivered finds a message that was delivered before, even if the recipient
// has another active conversation by now.
func (t *tx) delivered(ctx context.Context, m Send) (*fika.Entry, error) {
	if m.ID == "" {
		return nil, nil
	}
	e, ok, err := one(ctx, t, scanEntry, selectEntry+` JOIN conversations c ON c.id = e.conversation
WHERE c.agent = ? AND c.agent <> '' AND c.kind = 'ask' AND e.id = ?`, m.To, m.ID)
	if err != nil || !ok {
		return nil, err
	}
	t.discard = true
	return &e, nil
}

// post stores a message, its chain, its notifications and who takes part.
func (t *tx) post(ctx context.Context, c fika.Conversation, p Post, when time.Time) (Posted, error) {
	var out Posted
	all, err := t.allPaused(ctx)
	if err != nil {
		return out, err
	}
	out.Paused = c.Paused || all
	if p.ID != "" {
		e, known, err := one(ctx, t, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.id = ?`, c.ID, p.ID)
		if err != nil || known {
			out.Entry, out.Repeat, t.discard = e, known, known
			return out, err
		}
	} else {
		p.ID = fika.EntryID(t.newID())
	}
	chain, depth, err := t.chainFor(ctx, c.ID, p.Chain, p.Depth, fika.RequestID(p.ID), len(p.Notify) > 0)
	if err != nil {
		return out, err
	}
	e := fika.Entry{
		Conversation: c.ID, ID: p.ID, At: when, From: p.From, To: string(c.Name), Content: p.Content, Type: fika.Message,
		ReplyTo: p.ReplyTo, Chain: chain, Depth: depth, Meta: fika.EntryMeta{Writer: p.Writer, WriterName: p.WriterName},
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
		if err := t.joinWriter(ctx, c.ID, p); err != nil {
			return out, err
		}
	}
	self := fika.AgentName("")
	if p.Writer == fika.ByAgent {
		self = fika.AgentName(p.WriterName)
	}
	out.Notified, err = t.notify(ctx, c, e, p.Notify, self, "")
	return out, err
}

// joinWriter makes the writer of a chat message a participant.
func (t *tx) joinWriter(ctx context.Context, c fika.ConversationID, p Post) error {
	name := p.From
	if p.WriterName != "" && p.Writer == fika.ByAgent {
		name = p.WriterName
	}
	id, isAgent, err := one(ctx, t, scanText, `SELECT id FROM agents WHERE name = ?`, name)
	switch {
	case err != nil:
		return err
	case isAgent && p.Writer == fika.ByAgent:
		return t.join(ctx, c, fika.AgentID(id), "")
	case p.Writer == fika.ByAgent || p.Writer == fika.ByTool || p.Writer == fika.BySystem || name == "":
		return nil
	}
	return t.join(ctx, c, "", name)
}

// notify makes a notification of e, which is new, for each named agent but self,
// and returns who got one. With a limit they are stored as dropped by it, so
// that continuing the chain finds them. In a chat the named join.
func (t *tx) notify(ctx context.Context, c fika.Conversation, e fika.Entry, names []fika.AgentName, self fika.AgentName, limit string) ([]fika.AgentName, error) {
	var told []fika.AgentName
	for _, name := range names {
		if name != self && !slices.Contains(told, name) {
			told = append(told, name)
		}
	}
	ids := make([]string, len(told))
	lookups := make([]statement, len(told))
	for i, name := range told {
		lookups[i] = first(&ids[i], nil, scanText, `SELECT id FROM agents WHERE name = ?`, name)
	}
	if err := t.run(ctx, lookups...); err != nil {
		return nil, err
	}
	state, reason := fika.NotificationPending, ""
	if limit != "" {
		state, reason = fika.NotificationDropped, reasonLimit
	}
	for i, id := range ids {
		if id == "" {
			return nil, fika.Errorf(fika.NotFound, "notify", "no agent named %q", told[i])
		}
		if err := t.put(ctx, `INSERT INTO notifications (conversation, seq, agent, chain, depth, state, reason, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, c.ID, e.Seq, id, e.Chain, e.Depth, state, reason, t.now); err != nil {
			return nil, err
		}
		if c.Kind == fika.Chat {
			if err := t.join(ctx, c.ID, fika.AgentID(id), ""); err != nil {
				return nil, err
			}
		}
	}
	return told, nil
}
