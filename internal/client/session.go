package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/config"
	"fika/internal/mention"
)

// sessionPrefix begins the name of every chat that is a session, and of no other.
const sessionPrefix = "s-"

// IsSessionName reports whether a chat of that name is somebody's session.
func IsSessionName(name fika.ConversationName) bool {
	return strings.HasPrefix(string(name), sessionPrefix)
}

// Session is the chat of the newest session of the home, or of a new one: where there
// is none, and when a fresh one is wanted.
func (s *Chats) Session(ctx context.Context, fresh bool) (fika.Conversation, error) {
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
	conv, err := s.Create(ctx, name)
	for n := 2; fika.IsKind(err, fika.Conflict) && n < 100; n++ { // two in one second
		conv, err = s.Create(ctx, fmt.Sprintf("%s-%d", name, n))
	}
	return conv, err
}

// SessionAgents are who is in a session: the agents of the config, one of whom, the one
// spoken to last, gets what names nobody. It may be used from many goroutines.
type SessionAgents struct {
	mu     sync.Mutex
	agents []fika.AgentName
	pools  map[fika.AgentName]fika.AgentName // of members
	last   fika.AgentName                    // who was spoken to last
}

// NewSessionAgents are the agents of a config that has some. The default agent of the
// config, or else its first one, is spoken to at first.
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

// poolsOf says which agents are members of which pools.
func poolsOf(conf *config.Config) map[fika.AgentName]fika.AgentName {
	out := map[fika.AgentName]fika.AgentName{}
	for _, a := range conf.Agents {
		if a.Pool != "" {
			out[fika.AgentName(a.ID)] = fika.AgentName(a.Pool)
		}
	}
	return out
}

// mentionable is [SessionAgents.MentionableNames] for whoever holds the lock.
func (s *SessionAgents) mentionable() []fika.AgentName {
	return append(slices.Clone(s.agents), slices.Sorted(maps.Keys(s.pools))...)
}

// TakeConfig takes over the agents of the config. It gives the one that was spoken to last,
// and who takes its place, if that is not among them any more.
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

// Names are those of the agents, with pools in the place of their members.
func (s *SessionAgents) Names() []fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agents
}

// MentionableNames are those whom a text can name: the agents of the session, and the
// members of the pools among them.
func (s *SessionAgents) MentionableNames() []fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mentionable()
}

// IsOf reports whether the agent that works is that of the session, or a member of it.
func (s *SessionAgents) IsOf(working, agent fika.AgentName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return working == agent || s.pools[working] == agent
}

// Address gives a text the name of the agent spoken to last, unless it says itself whom
// it is for; then that one is spoken to. toAll reports that it is for everybody.
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

// IsForLast reports whether a text names nobody, so that it goes to the agent spoken
// to last.
func (s *SessionAgents) IsForLast(text string) bool {
	return mention.Parse(text, mention.Known{Agents: s.MentionableNames()}).NoneAddressed()
}

// SpokenTo is who gets text without a name.
func (s *SessionAgents) SpokenTo() fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// SpeakTo lets text without a name go to an agent.
func (s *SessionAgents) SpeakTo(name fika.AgentName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = name
}
