package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/chat/mention"
	"fika/internal/settings/config"
	"fika/internal/store"
)

// sessionPrefix begins the name of every session chat, and of no other chat.
const sessionPrefix = "s-"

// IsSessionName reports whether a chat of that name is a session.
func IsSessionName(name fika.ConversationName) bool {
	return strings.HasPrefix(string(name), sessionPrefix)
}

// Session returns the chat of the newest session of the home, or creates one if there
// is none or fresh is set.
func (s *Chats) Session(ctx context.Context, fresh bool) (fika.Conversation, error) {
	if err := s.c.may("conversation.session"); err != nil {
		return fika.Conversation{}, err
	}
	return s.createOnce(ctx, "conversation.session", []any{fresh}, func(to *store.Store) (fika.Conversation, error) {
		if !fresh {
			list, err := s.List(ctx)
			if err != nil {
				return fika.Conversation{}, err
			}
			for _, x := range list {
				if IsSessionName(x.Name) {
					return x.Conversation, nil
				}
			}
		}
		name := sessionPrefix + time.Now().Format("20060102-150405")
		mode := s.c.sessionMode()
		conv, err := to.CreateChatIn(ctx, fika.ConversationName(name), mode)
		for n := 2; fika.IsKind(err, fika.Conflict) && n < 100; n++ { // another session began in the same second
			conv, err = to.CreateChatIn(ctx, fika.ConversationName(fmt.Sprintf("%s-%d", name, n)), mode)
		}
		return conv, err
	})
}

// SessionAgents are the agents of a session: those of the configuration. The one spoken
// to last receives text that names nobody. It is safe for concurrent use.
type SessionAgents struct {
	mu     sync.Mutex
	agents []fika.AgentName
	pools  map[fika.AgentName]fika.AgentName // pool of each member
	last   fika.AgentName                    // the agent spoken to last
}

// NewSessionAgents returns the agents of conf, which must have some. The first agent
// spoken to is the configuration's default agent, or else its first one.
func NewSessionAgents(conf *config.Config) *SessionAgents {
	s := &SessionAgents{agents: agentsOf(conf), pools: poolsOf(conf), last: fika.AgentName(conf.Master.DefaultAgent)}
	if s.last == "" || !slices.Contains(s.mentionable(), s.last) {
		s.last = s.agents[0]
	}
	return s
}

func agentsOf(conf *config.Config) (names []fika.AgentName) {
	for _, a := range conf.Entries() {
		names = append(names, fika.AgentName(a.ID))
	}
	return names
}

// poolsOf maps the members of pools to their pools.
func poolsOf(conf *config.Config) map[fika.AgentName]fika.AgentName {
	out := map[fika.AgentName]fika.AgentName{}
	for _, a := range conf.Agents {
		if a.Pool != "" {
			out[fika.AgentName(a.ID)] = fika.AgentName(a.Pool)
		}
	}
	return out
}

// mentionable is [SessionAgents.MentionableNames] for callers that hold mu.
func (s *SessionAgents) mentionable() []fika.AgentName {
	return append(slices.Clone(s.agents), slices.Sorted(maps.Keys(s.pools))...)
}

// TakeConfig replaces the agents by those of conf. If the agent spoken to last is no
// longer among them, it returns that agent and its replacement.
func (s *SessionAgents) TakeConfig(conf *config.Config) (gone, now fika.AgentName) {
	names, pools := agentsOf(conf), poolsOf(conf)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(names) == 0 || slices.Equal(names, s.agents) && maps.Equal(pools, s.pools) {
		return "", ""
	}
	s.agents, s.pools = names, pools
	if slices.Contains(s.mentionable(), s.last) {
		return "", ""
	}
	gone, s.last = s.last, names[0]
	return gone, s.last
}

// Names returns the names of the agents, with pools in place of their members. The
// caller must not modify the slice.
func (s *SessionAgents) Names() []fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agents
}

// MentionableNames returns the names that a text can mention: the agents of the
// session, and the members of its pools.
func (s *SessionAgents) MentionableNames() []fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mentionable()
}

// IsOf reports whether working is the given agent or a member of it.
func (s *SessionAgents) IsOf(working, agent fika.AgentName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return working == agent || s.pools[working] == agent
}

// Address prefixes a text that names nobody with the agent spoken to last. A text that
// names an agent makes that the agent spoken to. toAll reports whether the text is for
// everybody.
func (s *SessionAgents) Address(text string) (addressed string, toAll bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := mention.Parse(text, mention.Known{Agents: s.mentionable()})
	switch {
	case len(to.Agents) > 0:
		s.last = to.Agents[0]
	case to.All:
		return text, true
	case to.NoneAddressed():
		return "@" + string(s.last) + " " + text, false
	}
	return text, false
}

// IsForLast reports whether a text names nobody and so goes to the agent spoken to
// last.
func (s *SessionAgents) IsForLast(text string) bool {
	return mention.Parse(text, mention.Known{Agents: s.MentionableNames()}).NoneAddressed()
}

// SpokenTo returns the agent that receives text without a name.
func (s *SessionAgents) SpokenTo() fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// SpeakTo makes an agent receive text without a name.
func (s *SessionAgents) SpeakTo(name fika.AgentName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = name
}
