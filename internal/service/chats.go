package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/chat/mention"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/text/spelling"
)

// Chats is the interface to chats.
type Chats struct{ c *Service }

// Find returns a chat by name. A NotFound error suggests the nearest name.
func (s *Chats) Find(ctx context.Context, word string) (fika.Conversation, error) {
	name, err := fika.ParseChatName(word)
	if err != nil {
		return fika.Conversation{}, err
	}
	conv, err := s.c.store.Conversation(ctx, name)
	if err == nil && conv.Kind == fika.Chat {
		return conv, nil
	}
	if err != nil && !fika.IsKind(err, fika.NotFound) {
		return conv, err
	}
	if conv, found, err := s.findBefore(ctx, name); found || err != nil {
		return conv, err
	}
	list, err := s.List(ctx)
	if err != nil {
		return conv, err
	}
	var names []string
	for _, x := range list {
		names = append(names, string(x.Name))
	}
	return conv, fika.WithHint(fika.Errorf(fika.NotFound, "", "chat %q not found%s", name, spelling.DidYouMean(string(name), names)), hint.ChatList)
}

// findBefore returns the chat that an earlier call of the same write has renamed, or
// deleted under this name.
func (s *Chats) findBefore(ctx context.Context, name fika.ConversationName) (conv fika.Conversation, found bool, err error) {
	for n := int64(1); ; n++ {
		k, ok := s.c.key(n, "", nil)
		if !ok {
			return conv, false, nil
		}
		done, err := s.c.store.Known(ctx, k)
		if done == nil || err != nil {
			return conv, false, err
		}
		id := done.Last(store.ConversationEvent).Conversation
		switch done.Verb {
		case "conversation.rename":
			conv, err := s.c.store.ConversationByID(ctx, id)
			return conv, err == nil, err
		case "conversation.delete":
			if old, err := s.c.store.DeletedChat(ctx, id); old == name || err != nil {
				return fika.Conversation{ID: id, Name: old, Kind: fika.Chat}, err == nil, err
			}
		}
	}
}

// FindAnyKind returns a conversation of any kind by its name. If there is none, the
// name is treated as a misspelt chat.
func (s *Chats) FindAnyKind(ctx context.Context, word string) (fika.Conversation, error) {
	if name, err := fika.ParseConversationName(word); err == nil {
		if conv, err := s.c.store.Conversation(ctx, name); !fika.IsKind(err, fika.NotFound) {
			return conv, err
		}
	}
	return s.Find(ctx, word)
}

// Match returns the chats that match names and patterns with * ? [a-z], each once. wild
// reports whether there was a pattern among the words.
func (s *Chats) Match(ctx context.Context, words []string) (found []fika.Conversation, wild bool, err error) {
	seen := map[fika.ConversationID]bool{}
	add := func(conv fika.Conversation) {
		if !seen[conv.ID] {
			seen[conv.ID] = true
			found = append(found, conv)
		}
	}
	for _, w := range words {
		if !strings.ContainsAny(w, "*?[") {
			conv, err := s.Find(ctx, w)
			if err != nil {
				return nil, wild, err
			}
			add(conv)
			continue
		}
		wild = true
		list, err := s.List(ctx)
		if err != nil {
			return nil, wild, err
		}
		n := len(found)
		for _, x := range list {
			ok, err := path.Match(strings.ToLower(w), string(x.Name))
			if err != nil {
				return nil, wild, fika.Errorf(fika.Invalid, "", "%q is not a pattern: use * and ?", w)
			}
			if ok {
				add(x.Conversation)
			}
		}
		if len(found) == n {
			return nil, wild, fika.Errorf(fika.NotFound, "", "no chat matches %q", w)
		}
	}
	return found, wild, nil
}

// List returns all chats, newest activity first.
func (s *Chats) List(ctx context.Context) ([]ConversationInfo, error) {
	return s.c.sight().conversations(ctx, store.ConversationFilter{Kind: fika.Chat})
}

// Busy returns the chats in which something runs or waits.
func (s *Chats) Busy(ctx context.Context) ([]fika.Conversation, error) {
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	going, err := s.c.sight().runs(ctx, true, 0)
	var busy []fika.Conversation
	for _, c := range list {
		if c.Pending+c.Running > 0 || slices.ContainsFunc(going, func(r Run) bool { return r.Chat == c.ID }) {
			busy = append(busy, c.Conversation)
		}
	}
	return busy, err
}

// ByID returns the current state of a chat.
func (s *Chats) ByID(ctx context.Context, id fika.ConversationID) (fika.Conversation, error) {
	if err := s.c.mayConversation(ctx, "conversation.show", id); err != nil {
		return fika.Conversation{}, err
	}
	return s.c.store.ConversationByID(ctx, id)
}

// Create creates a chat of the given name. Error kinds: Invalid for a malformed name,
// Conflict if there is already a chat of that name.
func (s *Chats) Create(ctx context.Context, word string) (fika.Conversation, error) {
	if err := s.c.may("conversation.create"); err != nil {
		return fika.Conversation{}, err
	}
	name, err := fika.ParseChatName(word)
	if err != nil {
		return fika.Conversation{}, err
	}
	conv, err := s.createOnce(ctx, "conversation.create", []any{name}, func(to *store.Store) (fika.Conversation, error) {
		return to.CreateChat(ctx, name)
	})
	if fika.IsKind(err, fika.Conflict) && !errors.Is(err, store.ErrKeyReused) {
		return conv, fika.WithHint(fika.Errorf(fika.Conflict, "", "chat %q exists already", name), hint.ChatJoin.With(name))
	}
	return conv, err
}

// createOnce is [once] for a write that creates a conversation.
func (s *Chats) createOnce(ctx context.Context, verb string, body []any, do func(*store.Store) (fika.Conversation, error)) (fika.Conversation, error) {
	return once(ctx, s.c, verb, body, do, func(done *store.Repeated) (fika.Conversation, error) {
		return s.c.store.ConversationByID(ctx, done.Last(store.ConversationEvent).Conversation)
	})
}

// CreateUnnamed creates a chat with a generated name.
func (s *Chats) CreateUnnamed(ctx context.Context) (fika.Conversation, error) {
	if err := s.c.may("conversation.create"); err != nil {
		return fika.Conversation{}, err
	}
	return s.createOnce(ctx, "conversation.create", nil, func(to *store.Store) (fika.Conversation, error) {
		for range 100 {
			name := fika.ConversationName(adjectives[rand.IntN(len(adjectives))] + "-" + nouns[rand.IntN(len(nouns))])
			conv, err := to.CreateChat(ctx, name)
			if !fika.IsKind(err, fika.Conflict) || errors.As(err, new(*store.Repeated)) || errors.Is(err, store.ErrKeyReused) {
				return conv, err
			}
		}
		return to.CreateChat(ctx, fika.ConversationName(fmt.Sprintf("chat-%d", time.Now().UnixMilli())))
	})
}

var (
	adjectives = [...]string{"amber", "brisk", "calm", "clever", "crisp", "dapper", "eager", "fuzzy", "gentle", "golden", "hazel", "jolly", "keen", "lively", "mellow", "misty", "nimble", "quiet", "rosy", "sunny", "tidy", "velvet", "warm", "witty"}
	nouns      = [...]string{"almond", "birch", "bun", "cardamom", "cinnamon", "cup", "fern", "harbor", "kettle", "lantern", "maple", "meadow", "mug", "oat", "otter", "pebble", "roast", "saucer", "spoon", "teapot", "thimble", "waffle", "willow", "wren"}
)

// poster returns the poster of messages to a store, which wakes the agents they mention.
func (s *Chats) poster(to *store.Store) *chat.Chats {
	c := chat.New(to, s.c.waker)
	c.Team, c.PoolOf = s.c.app.Colleagues(""), s.c.app.PoolOf
	c.MayCall = func(ctx context.Context, self, to fika.AgentName) error {
		if self == "" {
			return s.c.app.MayCall(ctx, nil, to)
		}
		return s.c.app.MayCall(ctx, &app.Speaker{Agent: self}, to)
	}
	return c
}

// Enter makes a person a participant of a chat, and returns the name they use there. It
// returns Denied for the name of an agent.
func (s *Chats) Enter(ctx context.Context, conv fika.Conversation, as Alias) (string, error) {
	if err := s.c.may("conversation.enter"); err != nil {
		return "", err
	}
	said, err := s.c.personSays("", as.Name)
	if err != nil {
		return "", err
	}
	if err := s.c.app.MayBeCalled(ctx, said.From, said.Username); err != nil {
		return "", err
	}
	return said.From, s.c.onceOnly(ctx, "conversation.enter", []any{conv.ID, said.From}, func(to *store.Store) error {
		return s.poster(to).Enter(ctx, conv, said.From)
	})
}

// Invite makes agents participants, so that a mention of all includes them.
func (s *Chats) Invite(ctx context.Context, conv fika.Conversation, agents []fika.AgentName) error {
	if err := s.c.may("conversation.invite"); err != nil {
		return err
	}
	in, err := s.Participants(ctx, conv)
	if err != nil {
		return err
	}
	var missing []string
	for _, a := range agents {
		if slices.Contains(in, string(a)) {
			continue
		}
		if _, err := s.c.Agents.Find(ctx, string(a)); err != nil {
			return err
		}
		missing = append(missing, string(a))
	}
	return s.c.onceOnly(ctx, "conversation.invite", []any{conv.ID, agents}, func(to *store.Store) error {
		if len(missing) == 0 {
			return nil
		}
		return to.Join(ctx, conv.ID, missing...)
	})
}

// Send posts a message in a chat for the caller: a person, or the agent whose tool runs
// the command. Error kinds: NotFound for a mention of nobody, Denied for a name that is
// not the speaker's and to an agent that takes no part in the chat, Limit if an agent's
// chain may grow no further.
func (s *Chats) Send(ctx context.Context, conv fika.Conversation, text string, as Alias) (Sent, error) {
	return s.SendWith(ctx, conv, text, nil, as)
}

// AssignedTo says, for each member of a pool that a message went to, which pool it
// stands for, because the text names only the pool.
func (s *Chats) AssignedTo(text string, notified []fika.AgentName) (out []string) {
	for _, name := range notified {
		e := s.c.config().Agent(name)
		if e == nil || e.Pool == "" || len(mention.Parse(text, mention.Known{Agents: []fika.AgentName{name}}).Agents) > 0 {
			continue
		}
		out = append(out, fmt.Sprintf("@%s of @%s", name, e.Pool))
	}
	return out
}

// SendWith is [Chats.Send] for a message with pictures. The pictures are stored already
// and the text describes them.
func (s *Chats) SendWith(ctx context.Context, conv fika.Conversation, text string, pictures []fika.Attachment, as Alias) (Sent, error) {
	return s.send(ctx, "conversation.send", conv, text, pictures, as)
}

// Steer is [Chats.SendWith] for a person's message that waits for a turn, if it is for one
// agent alone and that has one under way in the chat: the turn has it when it next asks its
// model. If it ends before that, the message is posted. Sent.Input says that it waits;
// otherwise it was posted at once.
func (s *Chats) Steer(ctx context.Context, conv fika.Conversation, text string, pictures []fika.Attachment, as Alias) (Sent, error) {
	return s.send(ctx, verbSteer, conv, text, pictures, as)
}

const verbSteer = "conversation.steer"

func (s *Chats) send(ctx context.Context, verb string, conv fika.Conversation, text string, pictures []fika.Attachment, as Alias) (Sent, error) {
	said, err := s.c.personSays(text, as.Name)
	if err != nil {
		return Sent{}, err
	}
	said.Attachments, said.Steer = pictures, verb == verbSteer
	speaker, say, err := s.c.speaker(ctx, as)
	if err != nil {
		return Sent{}, err
	}
	if err := say.mayConversation(ctx, verb, conv.ID); err != nil {
		return Sent{}, err
	}
	if speaker != nil {
		said.Agent, err = s.c.agentSays(speaker, conv)
	} else {
		err = s.c.app.MayBeCalled(ctx, said.From, said.Username)
	}
	if err != nil {
		return Sent{}, err
	}
	if speaker == nil {
		if err := s.c.Agents.ensureMentioned(ctx, text); err != nil {
			return Sent{}, err
		}
	}
	sent, err := once(ctx, say, verb, []any{conv.ID, said.From, text, pictures}, func(to *store.Store) (Sent, error) {
		return s.poster(to).Send(ctx, conv, said)
	}, func(done *store.Repeated) (sent Sent, err error) {
		sent.Repeat = true
		if id := done.Last(store.InputEvent).Entry; id != "" {
			in, err := s.c.store.Input(ctx, id)
			sent.Input = &in
			return sent, err
		}
		sent.Entry, err = s.c.store.EntryByID(ctx, conv.ID, done.Last(store.EntryEvent).Entry)
		return sent, err
	})
	if err == nil {
		_ = s.c.bus.Flush(ctx)
	}
	return sent, err
}

// FindEntry returns the seq of an entry, given what a person typed: a seq, which is not
// looked up, or an id.
func (s *Chats) FindEntry(ctx context.Context, conv fika.Conversation, word string) (int64, error) {
	if err := s.c.mayConversation(ctx, "conversation.entries", conv.ID); err != nil {
		return 0, err
	}
	seq, err := strconv.ParseInt(strings.TrimPrefix(word, "#"), 10, 64)
	if err == nil {
		return seq, nil
	}
	entry, err := s.c.store.EntryByID(ctx, conv.ID, fika.EntryID(word))
	if fika.IsKind(err, fika.NotFound) {
		return 0, fika.Errorf(fika.NotFound, "", "no entry %q in %q", word, conv.Name)
	}
	return entry.Seq, err
}

// Pin exempts an entry from its time to live, or ends the exemption.
func (s *Chats) Pin(ctx context.Context, conv fika.Conversation, seq int64, pinned bool) (fika.Entry, error) {
	if err := s.c.may("conversation.pin"); err != nil {
		return fika.Entry{}, err
	}
	verb := "conversation.unpin"
	if pinned {
		verb = "conversation.pin"
	}
	entry, err := once(ctx, s.c, verb, []any{conv.ID, seq}, func(to *store.Store) (fika.Entry, error) {
		return to.Pin(ctx, conv.ID, seq, pinned)
	}, func(*store.Repeated) (fika.Entry, error) { return s.c.store.EntryBySeq(ctx, conv.ID, seq) })
	if fika.IsKind(err, fika.NotFound) {
		return entry, fika.Errorf(fika.NotFound, "", "no entry %d in %q", seq, conv.Name)
	}
	return entry, err
}

// Clear makes agents forget everything said so far; the entries stay.
func (s *Chats) Clear(ctx context.Context, conv fika.Conversation) error {
	if err := s.c.may("conversation.clear"); err != nil {
		return err
	}
	return s.c.onceOnly(ctx, "conversation.clear", []any{conv.ID}, func(to *store.Store) error {
		entry, err := to.AppendCompaction(ctx, conv.ID, "system", "cleared", fika.EntryMeta{Writer: fika.BySystem, UpTo: conv.LastSeq})
		if err != nil {
			return err
		}
		s.c.waker.Show(conv, entry)
		_ = s.c.bus.Flush(ctx)
		return nil
	})
}

// emptyAge is how long a chat must have been empty before a clean-up removes it.
const emptyAge = 24 * time.Hour

// Cleanup removes expired entries, and chats that have been empty for a day. With dry
// it only reports what it would remove.
func (s *Chats) Cleanup(ctx context.Context, dry bool) (Cleaned, error) {
	if err := s.c.may("conversation.cleanup"); err != nil {
		return Cleaned{}, err
	}
	o := store.CleanupOptions{DryRun: dry, EmptyAge: emptyAge}
	if dry {
		return s.c.store.Cleanup(ctx, o)
	}
	return once(ctx, s.c, "conversation.cleanup", nil, func(to *store.Store) (Cleaned, error) { return to.Cleanup(ctx, o) },
		func(done *store.Repeated) (out Cleaned, err error) {
			for _, r := range done.All(store.ConversationEvent) {
				out.Expired += int(r.Removed)
				if name, err := s.c.store.DeletedChat(ctx, r.Conversation); err != nil {
					return out, err
				} else if r.Removed == 0 && name != "" {
					out.Chats = append(out.Chats, name)
				}
			}
			return out, nil
		})
}

// Participants returns the names of the participants of a chat.
func (s *Chats) Participants(ctx context.Context, conv fika.Conversation) ([]string, error) {
	if err := s.c.mayConversation(ctx, "conversation.participants", conv.ID); err != nil {
		return nil, err
	}
	return s.c.store.Participants(ctx, conv.ID)
}

// People returns the participants who are not agents.
func (s *Chats) People(ctx context.Context, conv fika.Conversation) ([]string, error) {
	agents, in, err := s.agentsAndParticipants(ctx, conv)
	return chat.PeopleAmong(in, agents), err
}

// AgentsIn returns the participants that are agents.
func (s *Chats) AgentsIn(ctx context.Context, conv fika.Conversation) ([]fika.AgentName, error) {
	agents, in, err := s.agentsAndParticipants(ctx, conv)
	var out []fika.AgentName
	for _, name := range in {
		for _, a := range agents {
			if string(a.Name) == name {
				out = append(out, a.Name)
			}
		}
	}
	return out, err
}

func (s *Chats) agentsAndParticipants(ctx context.Context, conv fika.Conversation) ([]fika.Agent, []string, error) {
	if err := s.c.mayConversation(ctx, "conversation.participants", conv.ID); err != nil {
		return nil, nil, err
	}
	agents, err := s.c.store.ListAgents(ctx)
	if err != nil {
		return nil, nil, err
	}
	in, err := s.c.store.Participants(ctx, conv.ID)
	return agents, in, err
}
