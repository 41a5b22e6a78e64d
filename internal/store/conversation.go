package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"fika"
)

// ConversationFilter narrows [Chats.ListConversations].
type ConversationFilter struct {
	Kind  fika.ConversationKind // empty: all
	Agent fika.AgentID          // owner, or participant of a chat; empty: all
	Limit int                   // newest first; 0: no limit
	Skip  int                   // leave out that many of the newest
	// Before is for [Transcripts.Search]: only entries with a smaller N; 0: all.
	Before int64
	// Behind is a place in the list: only conversations behind it; zero: all.
	Behind ConversationPlace
}

// ConversationPlace is the place of a conversation in a list, from its UpdatedAt and ID.
type ConversationPlace struct {
	Updated int64 // Unix milliseconds
	ID      fika.ConversationID
}

// ConversationInfo is a conversation with the facts that lists show.
type ConversationInfo struct {
	fika.Conversation
	AgentName    fika.AgentName    // owner of an ask or task
	Messages     int               // entries of type message, not expired
	Participants []string          // names, in order of joining
	Pending      int               // notifications not yet covered
	Running      int               // requests running or waiting
	Task         fika.RequestState // of a task's request; empty for others
}

// Result returns the status shown to people and programs: that of the conversation,
// except that a task which did not end as done shows how it ended.
func (c ConversationInfo) Result() string {
	if c.Status == fika.Completed && c.Task.Terminal() && c.Task != fika.Done {
		return string(c.Task)
	}
	return string(c.Status)
}

const selectConversation = `SELECT ` + conversationColumns + ` FROM conversations c`

func conversationByID(ctx context.Context, q querier, id fika.ConversationID) (fika.Conversation, error) {
	c, ok, err := one(ctx, q, scanConversation, selectConversation+` WHERE c.id = ?`, id)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, "conversation", "no conversation with id %q", id)
	}
	return c, err
}

// conversationRows writes conversations, their names and their participants.
type conversationRows struct{ *tx }

func conversationsIn(t *tx) conversationRows { return conversationRows{t} }

// newConversation creates an empty conversation. The name must be free.
func (t conversationRows) newConversation(ctx context.Context, name fika.ConversationName, kind fika.ConversationKind, agent fika.AgentID) (fika.Conversation, error) {
	c := fika.Conversation{
		ID: fika.ConversationID(t.newID()), Name: name, Kind: kind, Agent: agent,
		Status: fika.Active, CreatedAt: at(t.now), UpdatedAt: at(t.now),
	}
	err := t.put(ctx, `INSERT INTO conversations (id, name, kind, agent, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`,
		c.ID, c.Name, c.Kind, c.Agent, t.now, t.now)
	t.lastSeq[c.ID] = 0 // nobody else knows the conversation yet
	t.tell(event{kind: ConversationEvent, conversation: c.ID, agent: agent, state: string(c.Status), data: EventData{Kind: string(kind)}})
	return c, err
}

// generatedName names a task or ask conversation by kind, agent, time and ten hex
// digits, because a run creates hundreds of them in the same second.
func (t conversationRows) generatedName(kind fika.ConversationKind, agent fika.AgentName) fika.ConversationName {
	sum := sha256.Sum256([]byte(t.newID()))
	return fika.ConversationName(strings.Join([]string{
		string(kind), string(agent), at(t.now).Format("20060102-150405") + "-" + hex.EncodeToString(sum[:5]),
	}, "_"))
}

// CreateChat creates a chat. It fails with Conflict if the name is taken.
func (s Chats) CreateChat(ctx context.Context, name fika.ConversationName) (fika.Conversation, error) {
	return s.CreateChatIn(ctx, name, "")
}

// CreateChatIn is [Chats.CreateChat] for a chat with a mode.
func (s Chats) CreateChatIn(ctx context.Context, name fika.ConversationName, mode fika.Mode) (fika.Conversation, error) {
	const op = "create chat"
	var c fika.Conversation
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		if err := conversationsIn(t).nameFree(ctx, op, name, ""); err != nil {
			return err
		}
		var err error
		c, err = conversationsIn(t).newConversation(ctx, name, fika.Chat, "")
		if c.Mode = mode; err == nil && mode != "" {
			err = conversationsIn(t).setMode(ctx, c, "")
		}
		return err
	})
	return c, err
}

func (t conversationRows) nameFree(ctx context.Context, op string, name fika.ConversationName, except fika.ConversationID) error {
	id, taken, err := one(ctx, t, scanText, `SELECT id FROM conversations WHERE name = ?`, name)
	if err == nil && taken && id != string(except) {
		err = fika.Errorf(fika.Conflict, op, "conversation named %q already exists", name)
	}
	return err
}

// Conversation returns the conversation with the given name. It fails with NotFound.
func (s Chats) Conversation(ctx context.Context, name fika.ConversationName) (fika.Conversation, error) {
	const op = "read conversation"
	c, ok, err := one(ctx, s.r, scanConversation, selectConversation+` WHERE c.name = ?`, name)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "no conversation named %q", name)
	}
	return c, s.explain(op, err)
}

// ConversationByID returns the conversation with the given id. It fails with
// NotFound.
func (s Chats) ConversationByID(ctx context.Context, id fika.ConversationID) (fika.Conversation, error) {
	c, err := conversationByID(ctx, s.r, id)
	return c, s.explain("read conversation", err)
}

const listConversations = `SELECT ` + conversationColumns + `, COALESCE(a.name, ''),
c.messages - (SELECT count(*) FROM entries e WHERE e.conversation = c.id AND e.expires_at > 0 AND e.expires_at <= ? AND e.pinned = 0 AND e.type = 'message'),
(SELECT count(*) FROM notifications n WHERE n.conversation = c.id AND n.` + live + ` AND n.state <> 'dead'),
(SELECT count(*) FROM requests r WHERE r.conversation = c.id AND r.finished_at = 0 AND r.state IN ('running', 'waiting')),
CASE WHEN c.kind = 'task' THEN COALESCE((SELECT r.state FROM requests r WHERE r.conversation = c.id ORDER BY r.n DESC LIMIT 1), '') ELSE '' END
FROM conversations c LEFT JOIN agents a ON a.id = c.agent
WHERE (? = '' OR c.kind = ?)
  AND (? = '' OR c.agent = ? OR EXISTS (SELECT 1 FROM participants p WHERE p.conversation = c.id AND p.agent = ?))
  AND (? = '' OR c.updated_at < ? OR c.updated_at = ? AND c.id < ?)
ORDER BY c.updated_at DESC, c.id DESC LIMIT ? OFFSET ?`

// ListConversations returns conversations, those with the latest activity first.
func (s Chats) ListConversations(ctx context.Context, f ConversationFilter) ([]ConversationInfo, error) {
	const op = "list conversations"
	all, err := many(ctx, s.r, func(sc scanner) (ConversationInfo, error) {
		var c ConversationInfo
		var created, updated int64
		dest := conversationFields(&c.Conversation, &created, &updated)
		err := sc.Scan(append(dest, &c.AgentName, &c.Messages, &c.Pending, &c.Running, &c.Task)...)
		c.CreatedAt, c.UpdatedAt = at(created), at(updated)
		return c, err
	}, listConversations, s.nowMS(), f.Kind, f.Kind, f.Agent, f.Agent, f.Agent,
		f.Behind.ID, f.Behind.Updated, f.Behind.Updated, f.Behind.ID, noLimit(f.Limit), f.Skip)
	if err != nil {
		return nil, s.explain(op, err)
	}
	for i := range all {
		if all[i].Kind != fika.Chat {
			continue
		}
		if all[i].Participants, err = s.Participants(ctx, all[i].ID); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Participants returns the names of the participants, in order of joining.
func (s Chats) Participants(ctx context.Context, c fika.ConversationID) ([]string, error) {
	all, err := many(ctx, s.r, scanText, selectParticipants, c)
	return all, s.explain("list participants", err)
}

const selectParticipants = `SELECT CASE WHEN p.agent = '' THEN p.person ELSE COALESCE(a.name, '') END
FROM participants p LEFT JOIN agents a ON a.id = p.agent WHERE p.conversation = ? ORDER BY p.joined_at, p.agent, p.person`

// Join makes people participants of a chat before they have said anything. It fails
// with Invalid if a name is empty or the conversation is not a chat.
func (s Chats) Join(ctx context.Context, c fika.ConversationID, people ...string) error {
	const op = "join"
	if slices.Contains(people, "") {
		return fika.Errorf(fika.Invalid, op, "nobody is named")
	}
	return s.write(ctx, op, func(ctx context.Context, t *tx) error {
		conv, err := conversationsIn(t).lock(ctx, c)
		if err == nil && conv.Kind != fika.Chat {
			err = fika.Errorf(fika.Invalid, op, "%s is not a chat", conv.Name)
		}
		if err != nil {
			return err
		}
		for _, person := range people {
			if err := conversationsIn(t).join(ctx, c, "", person); err != nil {
				return err
			}
		}
		return nil
	})
}

// AskConversations returns all ask conversations of an agent, oldest first. It is
// cheap, because every opening of a context's folder calls it.
func (s Chats) AskConversations(ctx context.Context, id fika.AgentID) ([]fika.Conversation, error) {
	all, err := many(ctx, s.r, scanConversation, selectConversation+` WHERE c.agent = ? AND c.agent <> '' AND c.kind = 'ask'
ORDER BY c.created_at, c.id`, id)
	return all, s.explain("list ask conversations", err)
}

// noLimit turns a limit of 0, no bound, into one that LIMIT understands on every
// engine.
func noLimit[N int | int64](n N) int64 {
	if n <= 0 {
		return 1 << 62
	}
	return int64(n)
}

// DeleteConversation removes a conversation with its entries, notifications and
// requests. It first cancels the tasks that its unfinished requests have delegated
// and fails the workflow steps that wait for it; a turn that runs in it loses its
// fence.
func (s Chats) DeleteConversation(ctx context.Context, id fika.ConversationID) error {
	const op = "delete conversation"
	return s.write(ctx, op, func(ctx context.Context, t *tx) error {
		if err := t.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.conversation = ? AND r.finished_at = 0 ORDER BY r.n`+lockRequest, id); err != nil {
			return err
		}
		if err := childrenIn(t).orphan(ctx, `p.conversation = ?`, id); err != nil {
			return err
		}
		if err := flowsIn(t).endDeleted(ctx, "its chat was deleted", `s.conversation = ? AND s.conversation <> ''`, id); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE agents SET active_ask = '' WHERE active_ask = ?`, id); err != nil {
			return err
		}
		if err := t.put(ctx, noteDeleted, id); err != nil {
			return err
		}
		n, err := t.tellConversations(ctx, Deleted, `DELETE FROM conversations WHERE id = ?`, id)
		if err == nil && n == 0 {
			err = fika.Errorf(fika.NotFound, op, "no conversation with id %q", id)
		}
		return err
	})
}

// noteDeleted records that a chat is about to be deleted: who keeps its text can tell
// that from a database that was put back.
const noteDeleted = `INSERT INTO meta (key, value) SELECT 'deleted chat ' || c.id, c.name FROM conversations c WHERE c.id = ? AND c.kind = 'chat' ON CONFLICT DO NOTHING`

// DeletedChat returns the name of a chat that somebody has deleted, "" if nobody has.
func (s Chats) DeletedChat(ctx context.Context, id fika.ConversationID) (fika.ConversationName, error) {
	name, _, err := one(ctx, s.r, scanText, `SELECT value FROM meta WHERE key = 'deleted chat ' || CAST(? AS TEXT)`, id)
	return fika.ConversationName(name), s.explain("read deleted chats", err)
}

// RenameChat gives a chat another name and posts a notice in it that says who did so.
// It returns the chat as renamed and the notice, which is nil if the chat already had
// that name. Earlier entries keep the old name as their To. It fails with Conflict if
// the name is taken, with NotFound, and with Invalid if the conversation is not a
// chat.
func (s Chats) RenameChat(ctx context.Context, id fika.ConversationID, name fika.ConversationName, by string) (fika.Conversation, *fika.Entry, error) {
	const op = "rename chat"
	var c fika.Conversation
	var notice *fika.Entry
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		notice = nil
		if c, err = conversationsIn(t).lock(ctx, id); err != nil {
			return err
		}
		if c.Kind != fika.Chat {
			return fika.Errorf(fika.Invalid, op, "%s is not a chat", c.Name)
		}
		if c.Name == name {
			t.discard = true
			return nil
		}
		if err := conversationsIn(t).nameFree(ctx, op, name, id); err != nil {
			return err
		}
		if _, err := t.tellConversations(ctx, "", `UPDATE conversations SET name = ? WHERE id = ?`, name, id); err != nil {
			return err
		}
		old := c.Name
		c.Name = name
		said := limitsIn(t).notice(c, fmt.Sprintf("%s renamed this chat from %s to %s", by, old, name), fika.RenamedNotice)
		if err := postsIn(t).append(ctx, &said); err != nil {
			return err
		}
		notice = &said
		return nil
	})
	return c, notice, err
}

// join makes an agent or a person a participant of a chat; an existing participant
// stays as it is.
func (t conversationRows) join(ctx context.Context, c fika.ConversationID, agent fika.AgentID, person string) error {
	t.tell(event{kind: AccessEvent, conversation: c, agent: agent, state: Joined, data: EventData{Person: person}})
	return t.put(ctx, `INSERT INTO participants (conversation, agent, person, joined_at) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING`, c, agent, person, t.now)
}
