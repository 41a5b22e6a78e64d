package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/screen"
	"fika/internal/client"
	"fika/internal/term"
	"fika/internal/view"
)

// session is what a joined chat has beside others when it is the session of one
// person: text without a name goes to the agent spoken to last.
type session struct {
	fresh  bool                  // the person asked for another one
	first  fika.AgentName        // whom text goes to at first
	agents *client.SessionAgents // who is in it
	cost   *cost
	// declined are the agents that the person did not want when they were proposed; of
	// the goroutine that reads lines.
	declined []fika.AgentName

	mu   sync.Mutex
	seen map[string]bool // which agents have done something here
}

// Open opens the newest session of this home, or a new one.
func Open(ctx context.Context, e *command.Env) error {
	conf, err := e.App().Config()
	if err != nil {
		return err
	}
	// Files that cannot be read leave what they said last, of which the agents warn.
	e.App().FollowConfig(func(string) {})
	s := &session{agents: client.NewSessionAgents(conf)}
	s.first = s.agents.SpokenTo()
	for fresh := false; ; fresh = true {
		again, err := openSession(ctx, e, s, fresh)
		if err != nil || !again {
			return err
		}
	}
}

// takeConfig takes over who is in the config now, and tells of it when text goes to
// somebody else then.
func (s *session) takeConfig(e *command.Env, out *screen.Screen) {
	conf, err := e.App().Config()
	if err != nil {
		return // doctor tells
	}
	if gone, now := s.agents.TakeConfig(conf); gone != "" {
		out.Note(fmt.Sprintf("— @%s is not in the config any more: text without a name goes to @%s", gone, now))
	}
}

// openSession enters a session; it reports whether another is wanted after it.
func openSession(ctx context.Context, e *command.Env, s *session, fresh bool) (again bool, err error) {
	var conv fika.Conversation
	c, err := openBehind(ctx, e, func(c *client.Client) (err error) {
		conv, err = c.Chats.Session(ctx, fresh)
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
	if last != "" {
		s.agents.SpeakTo(last)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range entries {
		if x.Type == fika.Message && x.Meta.Writer == fika.ByAgent {
			s.seen[x.From] = true
		}
	}
}

// welcome is the first line of a session.
func (s *session) welcome(e *command.Env, sandbox string) string {
	name, home := place(e)
	return strings.Join([]string{name, command.Plural(len(s.agents.Names()), "agent"), home, "sandbox " + sandbox, "/help"}, " · ")
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

// withIdle adds the agents that do nothing, of those that have done something here
// and whom text goes to, to those that do something.
func (s *session) withIdle(busy []view.Worker) []view.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range busy {
		s.seen[w.Name] = true
	}
	last := s.agents.SpokenTo()
	var out []view.Worker
	for _, a := range s.agents.Names() {
		if !s.seen[string(a)] && a != last {
			continue
		}
		at := slices.IndexFunc(busy, func(w view.Worker) bool { return s.agents.IsOf(fika.AgentName(w.Name), a) })
		if at < 0 {
			out = append(out, view.Worker{Name: string(a)})
			continue
		}
		out = append(out, busy[at])
		busy = slices.Delete(slices.Clone(busy), at, at+1)
	}
	return append(out, busy...)
}
