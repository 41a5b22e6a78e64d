package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/config"
	"fika/internal/mention"
	"fika/internal/term"
	"fika/internal/view"
)

// session is what a joined chat has beside others when it is the session of one
// person: text without a name goes to the agent spoken to last.
type session struct {
	fresh bool           // the person asked for another one
	first fika.AgentName // whom text goes to at first
	cost  *cost
	// declined are the agents that the person did not want when they were proposed; of
	// the goroutine that reads lines.
	declined []fika.AgentName

	mu     sync.Mutex
	agents []fika.AgentName
	pools  map[fika.AgentName]fika.AgentName // of members
	last   fika.AgentName                    // who was spoken to last
	seen   map[string]bool                   // who has done something here
}

// Open opens the newest session of this home, or a new one.
func Open(ctx context.Context, e *command.Env) error {
	conf, err := e.App().Config()
	if err != nil {
		return err
	}
	// Files that cannot be read leave what they said last, of which the agents warn.
	e.App().FollowConfig(func(string) {})
	s := &session{last: fika.AgentName(conf.Master.DefaultAgent)}
	s.agents, s.pools = agentsOf(conf), poolsOf(conf)
	if s.last == "" || !slices.Contains(s.mentionable(), s.last) {
		s.last = s.agents[0]
	}
	s.first = s.last
	for fresh := false; ; fresh = true {
		again, err := openSession(ctx, e, s, fresh)
		if err != nil || !again {
			return err
		}
	}
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

// mentionable are those whom a text can name: the agents of the session, and the
// members of the pools among them.
func (s *session) mentionable() []fika.AgentName {
	return append(slices.Clone(s.agents), slices.Sorted(maps.Keys(s.pools))...)
}

// takeConfig takes over who is in the config now, and tells of it when text goes to
// somebody else then.
func (s *session) takeConfig(out *screen) {
	conf, err := out.env.App().Config()
	if err != nil {
		return // doctor tells
	}
	if gone, now := s.takeAgents(conf); gone != "" {
		out.note(fmt.Sprintf("— @%s is not in the config any more: text without a name goes to @%s", gone, now))
	}
}

// takeAgents takes over the agents of the config. It gives the one that was spoken
// to last, and who takes its place, if that is not among them any more.
func (s *session) takeAgents(conf *config.Config) (gone, now fika.AgentName) {
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

// known are the agents of the session.
func (s *session) known() []fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agents
}

// named are those whom a text can name.
func (s *session) named() []fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mentionable()
}

// openSession enters a session; it reports whether another is wanted after it.
func openSession(ctx context.Context, e *command.Env, s *session, fresh bool) (again bool, err error) {
	var conv fika.Conversation
	c, err := openBehind(ctx, e, func(c *client.Client) (err error) {
		conv, err = sessionChat(ctx, c, fresh)
		return err
	})
	if err != nil {
		return false, err
	}
	s.fresh, s.cost, s.declined, s.seen = fresh, newCost(), nil, map[string]bool{}
	err = joinChat(ctx, e, c, conv, JoinOptions{History: sessionHistory}, s)
	if errors.Is(err, errAnother) {
		return true, nil
	}
	return false, err
}

// sessionHistory is how many entries a session shows when it is opened again, if
// its person has not missed more.
const sessionHistory = 30

// sessionChat is the chat of the newest session, or of a new one.
func sessionChat(ctx context.Context, c *client.Client, fresh bool) (fika.Conversation, error) {
	if !fresh {
		list, err := c.Chats.List(ctx)
		if err != nil {
			return fika.Conversation{}, err
		}
		for _, x := range list {
			if IsName(x.Name) {
				return x.Conversation, nil
			}
		}
	}
	name := "s-" + time.Now().Format("20060102-150405")
	conv, err := c.Chats.Create(ctx, name)
	for n := 2; fika.IsKind(err, fika.Conflict) && n < 100; n++ { // two in one second
		conv, err = c.Chats.Create(ctx, fmt.Sprintf("%s-%d", name, n))
	}
	return conv, err
}

// IsName reports whether a chat of that name is somebody's session.
func IsName(name fika.ConversationName) bool { return strings.HasPrefix(string(name), "s-") }

// recent gives the entries to begin with: the last ones, and all since the
// person has last said something.
func (s *session) recent(ctx context.Context, c *client.Client, q client.EntryQuery) ([]fika.Entry, error) {
	var list []fika.Entry
	collect := func(x fika.Entry) error { list = append(list, x); return nil }
	for {
		list = nil
		if _, err := c.Chats.Read(ctx, q, collect); err != nil {
			return nil, err
		}
		if len(list) < q.Last || slices.ContainsFunc(list, func(x fika.Entry) bool { return x.Type == fika.Message && x.Meta.Writer == fika.ByHuman }) {
			return list, nil
		}
		q.Last *= 4
	}
}

// resume goes on where the session was left: with whom its person spoke to last,
// if that is known.
func (s *session) resume(last fika.AgentName, entries []fika.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last != "" {
		s.last = last
	}
	for _, x := range entries {
		if x.Type == fika.Message && x.Meta.Writer == fika.ByAgent {
			s.seen[x.From] = true
		}
	}
}

// welcome is the first line of a session.
func (s *session) welcome(e *command.Env, sandbox string) string {
	name, home := place(e)
	return strings.Join([]string{name, command.Plural(len(s.known()), "agent"), home, "sandbox " + sandbox, "/help"}, " · ")
}

// place says where the session is: the project, and the home.
func place(e *command.Env) (name, home string) {
	at, err := e.App().Standing()
	switch {
	case err != nil:
		return "fika", "home not known"
	case at.Project != "":
		return term.CleanLine(at.Project), at.String()
	}
	root := at.Home
	if home := e.Getenv("HOME"); home != "" && strings.HasPrefix(root, home+"/") {
		root = "~" + strings.TrimPrefix(root, home)
	}
	return "fika", "home " + root
}

// address gives a text the name of the agent spoken to last, unless it says itself
// whom it is for. toAll reports that it is for everybody.
func (s *session) address(text string) (addressed string, toAll bool) {
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

// isForLast reports whether a text names nobody, so that it goes to the agent spoken
// to last.
func (s *session) isForLast(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return mention.Parse(text, mention.Known{Agents: s.mentionable()}).NoneAddressed()
}

// spokenTo is who gets text without a name.
func (s *session) spokenTo() fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// speakTo lets text without a name go to an agent.
func (s *session) speakTo(name fika.AgentName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = name
}

// withIdle adds the agents that do nothing, of those that have done something here
// and whom text goes to, to those that do something.
func (s *session) withIdle(busy []view.Worker) []view.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range busy {
		s.seen[w.Name] = true
	}
	var out []view.Worker
	for _, a := range s.agents {
		if !s.seen[string(a)] && a != s.last {
			continue
		}
		mine := func(w view.Worker) bool {
			return w.Name == string(a) || s.pools[fika.AgentName(w.Name)] == a
		}
		at := slices.IndexFunc(busy, mine)
		if at < 0 {
			out = append(out, view.Worker{Name: string(a)})
			continue
		}
		out = append(out, busy[at])
		busy = slices.Delete(slices.Clone(busy), at, at+1)
	}
	return append(out, busy...)
}
