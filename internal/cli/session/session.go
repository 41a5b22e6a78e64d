package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/screen"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/view"
)

// session is what a joined chat has in addition if it is one person's session: text
// without a name goes to the agent spoken to last.
type session struct {
	fresh  bool                   // the person asked for another session
	next   *fika.Conversation     // the session that is entered next; nil: the newest, or a new one
	first  fika.AgentName         // whom text goes to at first
	agents *service.SessionAgents // who is in it
	cost   *cost
	fill   *fill
	since  time.Time // when the person came
	// declined are the agents that were proposed and not wanted. Only the goroutine that
	// reads lines may use it.
	declined []fika.AgentName

	mu   sync.Mutex
	seen map[string]bool // names of the agents that have done something here
}

// Open opens the newest session of this home, or a new one, then others on request.
func Open(ctx context.Context, e *command.Env) error {
	conf, err := e.App().Config()
	if err != nil {
		return err
	}
	// If the config cannot be read, the last one applies; the agents warn about that.
	e.App().FollowConfig(func(string) {})
	if e.InTTY && e.OutTTY && !e.InsideTool() {
		end, err := e.App().LendKeys()
		if err != nil {
			return err
		}
		defer end()
	}
	s := &session{agents: service.NewSessionAgents(conf)}
	s.first = s.agents.SpokenTo()
	for fresh := false; ; fresh = true {
		again, err := openSession(ctx, e, s, fresh)
		if err != nil || !again {
			return err
		}
	}
}

// takeConfig adopts the agents of the present config, and tells the person if text now
// goes to another agent.
func (s *session) takeConfig(e *command.Env, out *screen.Screen) {
	conf, err := e.App().Config()
	if err != nil {
		return // fika doctor reports it
	}
	if gone, now := s.agents.TakeConfig(conf); gone != "" {
		out.Note(fmt.Sprintf("— @%s is not in the config any more: text without a name goes to @%s", gone, now))
	}
}

// openSession enters a session and reports whether the person then wants another one.
func openSession(ctx context.Context, e *command.Env, s *session, fresh bool) (again bool, err error) {
	var conv fika.Conversation
	next := s.next
	c, err := openBehind(ctx, e, func(c *service.Service) (err error) {
		if next != nil {
			conv = *next
			return nil
		}
		conv, err = c.Chats.Session(ctx, fresh)
		return err
	})
	if err != nil {
		return false, err
	}
	s.fresh, s.next = fresh && next == nil, nil
	s.cost, s.fill, s.declined, s.seen, s.since = newCost(), &fill{}, nil, map[string]bool{}, e.Now()
	err = joinChat(ctx, e, c, conv, JoinOptions{History: sessionHistory}, s)
	if errors.Is(err, errAnother) {
		return true, nil
	}
	return false, err
}

// sessionHistory is how many entries a session shows when it is opened again, unless
// the person has missed more.
const sessionHistory = 30

// recent returns the entries to begin with: the last ones, and all since the person
// last said something.
func (s *session) recent(ctx context.Context, c *service.Service, q service.EntryQuery) ([]fika.Entry, error) {
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

// resume continues where the session was left, with the agent that the person spoke
// to last, if that is known.
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

// branchTime bounds the wait for git before the first line of a session.
const branchTime = 300 * time.Millisecond

// welcome returns the first line of a session, broken between its parts at width: the project, its branch with the number of
// changed files, who answers with which model, and what commands can reach.
func (s *session) welcome(ctx context.Context, e *command.Env, sandbox service.SandboxStatus, width int) string {
	ctx, stop := context.WithTimeout(ctx, branchTime)
	defer stop()
	name, _ := place(e)
	parts := []string{name}
	if branch, changed := service.Branch(ctx, e.App().Dir()); branch != "" {
		if changed > 0 {
			branch += fmt.Sprintf(" ✎%d", changed)
		}
		parts = append(parts, term.CleanLine(branch))
	}
	who := "@" + string(s.agents.SpokenTo())
	network := ""
	if set, err := e.App().Settings(s.agents.SpokenTo(), nil, true); err == nil {
		who, network = who+" "+set.Model.ID, set.Guard.Network
	}
	if more := len(s.agents.Names()) - 1; more > 0 {
		who += " and " + command.Plural(more, "other")
	}
	line, room := "", 0
	for _, part := range append(parts, who, sandboxText(sandbox, network), "/help") {
		need := term.Width(" · " + part)
		switch {
		case line == "":
			line, room = part, width-1-term.Width(part)
		case need <= room:
			line, room = line+" · "+part, room-need
		default: // a row of its own, rather than one that ends within a part
			line, room = line+"\n"+part, width-2-need
		}
	}
	return line
}

// sandboxText says in a few words what commands of agents can reach.
func sandboxText(s service.SandboxStatus, network string) string {
	net := "no network"
	if network == "on" {
		net = "network open"
	}
	switch s.Tier {
	case "full":
		return "sandbox: files here, " + net
	case "landlock":
		return "weaker sandbox: files here, " + net
	}
	return "NO SANDBOX: commands can do what you can"
}

// place returns where the session is: the project, or else the folder.
func place(e *command.Env) (name string, isProject bool) {
	if at, err := e.App().Standing(); err == nil && at.Project != "" {
		return term.CleanLine(at.Project), true
	}
	return term.CleanLine(filepath.Base(e.App().Dir())), false
}

// withIdle adds the agents that do nothing here to the busy ones: those that have done
// something here, and the one that text goes to. elsewhere says what one does elsewhere.
func (s *session) withIdle(busy []view.Worker, elsewhere func(fika.AgentName) string) []view.Worker {
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
			out = append(out, view.Worker{Name: string(a), Doing: elsewhere(a)})
			continue
		}
		out = append(out, busy[at])
		busy = slices.Delete(slices.Clone(busy), at, at+1)
	}
	return append(out, busy...)
}
