package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/mention"
	"fika/internal/term"
	"fika/internal/view"
)

const sessionHelp = `Text goes to the agent you spoke to last; @name turns to another, @all to everybody.

Commands:
  /agents          who is here, and what they do
  /approve N       allow a tool call that waits for your word; /approve N no WHY
  /why             why nobody answers
  /cost            what this session has spent
  /pause /resume   nothing new begins; go on
  /stop            drop what waits, cancel what runs
  /continue        go on where a limit ended a chain
  /new             begin another session
  /help            this list
  /quit            leave (ctrl-D too); whatever runs goes on

Ctrl-C clears the line; on an empty one it cancels what runs, and a second one leaves.`

// session is what a joined chat has beside others when it is the session of one
// person: text without a name goes to the agent spoken to last.
type session struct {
	agents []fika.AgentName
	fresh  bool // nothing was said in it yet

	mu      sync.Mutex
	last    fika.AgentName
	spent   fika.Usage
	pending []client.OpenApproval
}

// Session opens the newest session of this home, or a new one.
func Session(ctx context.Context, e *command.Env) error {
	conf, err := e.App().Config()
	if err != nil {
		return err
	}
	s := &session{last: fika.AgentName(conf.Master.DefaultAgent)}
	for _, a := range conf.Agents {
		s.agents = append(s.agents, fika.AgentName(a.ID))
	}
	if s.last == "" || !slices.Contains(s.agents, s.last) {
		s.last = s.agents[0]
	}
	for fresh := false; ; fresh = true {
		again, err := openSession(ctx, e, s, fresh)
		if err != nil || !again {
			return err
		}
	}
}

// openSession enters a session; it reports whether another is wanted after it.
func openSession(ctx context.Context, e *command.Env, s *session, fresh bool) (again bool, err error) {
	var conv fika.Conversation
	c, err := e.ClientFor(ctx, func(c *client.Client) (err error) {
		conv, err = sessionChat(ctx, c, fresh)
		return err
	})
	if err != nil {
		return false, err
	}
	s.fresh = conv.LastSeq == 0
	err = joinChat(ctx, e, c, conv, joinOptions{history: 20}, s)
	if errors.Is(err, errAnother) {
		return true, nil
	}
	return false, err
}

// errAnother ends a session for another one.
var errAnother = errors.New("another session is wanted")

// sessionChat is the chat of the newest session, or of a new one.
func sessionChat(ctx context.Context, c *client.Client, fresh bool) (fika.Conversation, error) {
	if !fresh {
		list, err := c.Chats.List(ctx)
		if err != nil {
			return fika.Conversation{}, err
		}
		for _, x := range list {
			if strings.HasPrefix(string(x.Name), "s-") {
				return x.Conversation, nil
			}
		}
	}
	return c.Chats.Create(ctx, "s-"+time.Now().Format("20060102-150405"))
}

// welcome is the first line of a session.
func (s *session) welcome(j *joined) string {
	home := ""
	if h, err := j.App().Home(); err == nil {
		home = " · home " + h.Root
	}
	names := make([]string, len(s.agents))
	for i, a := range s.agents {
		names[i] = "@" + string(a)
	}
	kind := "session"
	if s.fresh {
		kind = "new session"
	}
	return fmt.Sprintf("fika · %s · %s %s%s · /help", strings.Join(names, " "), kind, j.conv.Name, home)
}

// address says whom a text is for: as it says, or the agent spoken to last.
func (s *session) address(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := mention.Parse(text, mention.Known{Agents: s.agents})
	switch {
	case len(to.Agents) > 0:
		s.last = to.Agents[0]
	case to.None():
		return "@" + string(s.last) + " " + text
	}
	return text
}

// standing is the status line: who does what, what was spent, what is asked.
func (s *session) standing(busy []view.Worker) view.Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := view.Standing{Tokens: s.spent.Input + s.spent.Output, Cost: s.spent.Cost}
	for _, a := range s.agents {
		at := slices.IndexFunc(busy, func(w view.Worker) bool { return w.Name == string(a) })
		if at < 0 {
			st.Workers = append(st.Workers, view.Worker{Name: string(a)})
			continue
		}
		st.Workers = append(st.Workers, busy[at])
		busy = slices.Delete(busy, at, at+1)
	}
	st.Workers = append(st.Workers, busy...)
	for _, a := range s.pending {
		st.Approvals = append(st.Approvals, strconv.FormatInt(a.N, 10))
	}
	return st
}

// spend counts what a turn has used.
func (s *session) spend(u *fika.Usage) {
	if u != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.spent = s.spent.Add(*u)
	}
}

// lookAtApprovals shows questions that are new.
func (j *joined) lookAtApprovals(ctx context.Context) {
	if j.session == nil {
		return
	}
	open, err := j.client.Approvals().Open(ctx)
	if err != nil {
		return
	}
	s := j.session
	s.mu.Lock()
	before := s.pending
	s.pending = open
	s.mu.Unlock()
	for _, a := range open {
		if !slices.ContainsFunc(before, func(b client.OpenApproval) bool { return b.N == a.N }) {
			j.feed.Print(j.OutStyle().Yellow(fmt.Sprintf("@%s asks: may it do this? /approve %d, or /approve %d no WHY", a.Agent, a.N, a.N)) + "\n" +
				command.Indented(command.ShownCall(a.Tool, a.Args)) + "\n" + command.Indented("in "+term.Visible(a.Workspace)+"; because of "+term.Visible(a.Rule)))
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(open, func(a client.OpenApproval) bool { return b.N == a.N }) {
			j.note(fmt.Sprintf("— %d is answered", b.N))
		}
	}
}

// approve is /approve N, and /approve N no WHY.
func (j *joined) approve(ctx context.Context, words []string) error {
	if len(words) < 2 {
		return fika.Errorf(fika.Invalid, "", "which one? /approve N; fika approve lists them")
	}
	n, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || n < 1 {
		return fika.Errorf(fika.Invalid, "", "%q is no number of an approval; fika approve lists them", words[1])
	}
	answer := client.ApprovalAnswer{Allow: true, By: command.PersonName(j.Env)}
	if len(words) > 2 {
		if words[2] != "no" {
			return fika.Errorf(fika.Invalid, "", "/approve %d allows the call, /approve %d no WHY refuses it", n, n)
		}
		answer.Allow, answer.Why = false, strings.Join(words[3:], " ")
	}
	if err := j.client.Approvals().Answer(ctx, n, answer); err != nil {
		return err
	}
	j.lookAtApprovals(ctx)
	return nil
}

// sessionCommand carries out what only a session knows; false: it is another
// command.
func (j *joined) sessionCommand(ctx context.Context, words []string) (known bool, err error) {
	s := j.session
	switch words[0] {
	case "/agents":
		return true, j.showAgents(ctx)
	case "/approve":
		return true, j.approve(ctx, words)
	case "/why":
		return true, j.showWaiting(ctx)
	case "/cost":
		s.mu.Lock()
		spent := s.spent
		s.mu.Unlock()
		j.note(fmt.Sprintf("— %s in, %s out, %s since this session was opened here", term.Count(spent.Input), term.Count(spent.Output), term.Dollars(spent.Cost)))
		return true, nil
	case "/help":
		j.feed.Print(sessionHelp)
		return true, nil
	}
	return false, nil
}

func (j *joined) showAgents(ctx context.Context) error {
	list, err := j.client.Agents.List(ctx, false)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, v := range list {
		rows = append(rows, []string{"@" + string(v.Row.Name), string(v.Status), v.Model, term.CleanLine(v.Why)})
	}
	j.feed.Print(term.FormatTable(term.TableOptions{Width: j.con.Width(), Style: j.OutStyle()}, []string{"AGENT", "STATUS", "MODEL", ""}, rows))
	return nil
}

// showWaiting says what waits in the session, and for what.
func (j *joined) showWaiting(ctx context.Context) error {
	queue, err := j.client.Chats.Queue(ctx, j.conv.ID)
	if err != nil {
		return err
	}
	if len(queue) == 0 {
		j.note("— nothing waits here")
	}
	for _, q := range queue {
		j.note(fmt.Sprintf("— @%s %s: %s", q.Agent, q.Place, whyItem(q, j.Now())))
	}
	return nil
}

// interrupt is ctrl-c on an empty line: it cancels the one turn that runs, and
// lists them when there are several.
func (j *joined) interrupt() {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	running, err := j.client.Chats.Running(ctx, j.conv)
	switch {
	case err != nil:
		j.note("— " + err.Error())
	case len(running) == 0:
		j.note("— nothing runs here; ctrl-c again leaves")
	case len(running) == 1:
		for id, name := range running {
			if _, err := j.client.Requests.Cancel(ctx, fika.RequestID(id), "cancelled from the terminal"); err != nil {
				j.note("— " + err.Error())
				return
			}
			j.note("— cancelling what @" + name + " does; ctrl-c again leaves")
		}
	default:
		var names []string
		for _, name := range running {
			names = append(names, "@"+name)
		}
		slices.Sort(names)
		j.note("— " + strings.Join(names, " and ") + " are at work; /stop cancels them all, ctrl-c again leaves")
	}
}
