package app

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/process"
	"fika/internal/store"
	"fika/internal/term"
)

// AgentView is what lists show of an agent, put together from its row, its
// lock, the queue and the config, so that it is true also when its process
// can say nothing any more.
type AgentView struct {
	Row       fika.Agent
	Entry     bool            // it has an [[agents]] entry: the hub may start it
	Can       []string        // its capabilities, as the entry names them
	Status    fika.AgentState // of its process: what is, not what was last said
	Why       string          // what is wrong, or what it is doing
	PID       int             // 0: no process
	Since     time.Time       // of the process; zero: none
	Processed int64           // requests finished since then
	Waiting   int             // requests and chats it could take now
	Running   []store.RequestInfo
	Suspended []store.RequestInfo // requests that wait: for a child, for the end of a pause
	Model     string              // nickname or id; empty: not known without asking the network
	Last      *store.RequestInfo
	Trouble   string    // empty: healthy
	HeldUntil time.Time // its hour is used up; zero: it is not
}

// The statuses a list adds to those of a process.
const (
	AgentStopping fika.AgentState = "stopping"
	AgentInUse    fika.AgentState = "in use" // a one-shot prompt has its context
)

// Alive reports whether its process runs.
func (v AgentView) Alive() bool { return v.PID != 0 && v.Status != AgentInUse }

// Agents looks after the agents of a home from a person's side. It commits
// wishes and waits for what comes of them; it needs a hub only to start
// processes.
type Agents struct {
	Client *Client
	app    *App
	home   folder.Home
}

// Agents opens the store and, if a hub runs, the bus.
func (a *App) Agents(ctx context.Context) (*Agents, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, err
	}
	return a.AgentsOf(c)
}

// AgentsOf is Agents with a client that is open already.
func (a *App) AgentsOf(c *Client) (*Agents, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	if _, err := a.Config(); err != nil {
		return nil, err
	}
	return &Agents{Client: c, app: a, home: h}, nil
}

// config is what the files say now: a console lives long.
func (s *Agents) config() *config.Config {
	c, err := s.app.Config()
	if err != nil { // it was read when s was made
		return config.Default()
	}
	return c
}

// List gives the agents that have an [[agents]] entry, a process, waiting work
// or a wish; with all also the contexts that are nothing more, by name.
func (s *Agents) List(ctx context.Context, all bool) ([]AgentView, error) {
	rows, err := s.Rows(ctx)
	if err != nil {
		return nil, err
	}
	views, err := s.views(ctx, rows)
	if err != nil || all {
		return views, err
	}
	return slices.DeleteFunc(views, func(v AgentView) bool {
		return !v.Entry && !v.Alive() && v.Waiting == 0 && v.Row.Desired == fika.DesiredNone
	}), nil
}

// Rows are the agents of the store and those that so far only the config names,
// by name.
func (s *Agents) Rows(ctx context.Context) ([]fika.Agent, error) {
	rows, err := s.Client.Store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	known := map[fika.AgentName]bool{}
	for _, r := range rows {
		known[r.Name] = true
	}
	for _, e := range s.config().Agents {
		if n := fika.AgentName(e.ID); !known[n] {
			rows = append(rows, fika.Agent{Name: n, DisplayName: e.Name, Description: e.Description, State: fika.AgentStopped})
		}
	}
	slices.SortFunc(rows, func(a, b fika.Agent) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return rows, nil
}

// View gives one agent by what a person typed.
func (s *Agents) View(ctx context.Context, name string) (AgentView, error) {
	row, err := s.Find(ctx, name)
	if err != nil {
		return AgentView{}, err
	}
	views, err := s.views(ctx, []fika.Agent{row})
	if err != nil {
		return AgentView{}, err
	}
	return views[0], nil
}

// Find finds an agent by name. One that only the config names gets its row, as
// it does when the hub starts. NotFound comes with the nearest name.
func (s *Agents) Find(ctx context.Context, name string) (fika.Agent, error) {
	n, err := fika.ParseAgentName(name)
	if err != nil {
		return fika.Agent{}, err
	}
	row, err := s.Client.Store.Agent(ctx, n)
	entry := s.config().Agent(n)
	if !fika.IsKind(err, fika.NotFound) {
		return row, err
	}
	if entry == nil {
		rows, err := s.Rows(ctx)
		if err != nil {
			return row, err
		}
		return row, NoAgent(n, rows)
	}
	id, err := s.home.ID()
	if err != nil {
		return row, err
	}
	if _, _, err := s.home.Ensure(n); err != nil {
		return row, err
	}
	return s.Client.Store.EnsureAgent(ctx, store.NewAgent{Name: n, HomeID: id, DisplayName: entry.Name, Description: entry.Description})
}

// Match finds the agents that patterns with * ? [a-z] name, each once, in the
// order of the list. A pattern that matches nothing is NotFound.
func (s *Agents) Match(ctx context.Context, patterns []string) ([]fika.Agent, error) {
	var out []fika.Agent
	add := func(r fika.Agent) {
		if !slices.ContainsFunc(out, func(o fika.Agent) bool { return o.Name == r.Name }) {
			out = append(out, r)
		}
	}
	for _, p := range patterns {
		if !strings.ContainsAny(p, "*?[") {
			row, err := s.Find(ctx, p)
			if err != nil {
				return nil, err
			}
			add(row)
			continue
		}
		views, err := s.List(ctx, false)
		if err != nil {
			return nil, err
		}
		before := len(out)
		for _, v := range views {
			ok, err := path.Match(strings.ToLower(p), string(v.Row.Name))
			if err != nil {
				return nil, fika.Errorf(fika.Invalid, "", "%q is not a pattern: %v", p, err)
			}
			if !ok {
				continue
			}
			row, err := s.Find(ctx, string(v.Row.Name))
			if err != nil {
				return nil, err
			}
			add(row)
		}
		if len(out) == before {
			return nil, fika.Errorf(fika.NotFound, "", "no agent matches %q; fika agent list shows them", p)
		}
	}
	return out, nil
}

// views looks at each agent's lock and at the queue.
func (s *Agents) views(ctx context.Context, rows []fika.Agent) ([]AgentView, error) {
	work, err := s.Client.Store.WithWork(ctx)
	if err != nil {
		return nil, err
	}
	underWay, err := s.Client.Store.ListRequests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Running, fika.Waiting}})
	if err != nil {
		return nil, err
	}
	_, hub := s.home.HubProcess()
	now := s.app.Now()
	out := make([]AgentView, 0, len(rows))
	for _, row := range rows {
		v := AgentView{Row: row, Model: s.model(row.Name)}
		if entry := s.config().Agent(row.Name); entry != nil {
			v.Entry, v.Can = true, entry.Capabilities
		}
		for _, w := range work {
			if w.Agent == row.Name {
				v.Waiting = w.Open
			}
		}
		for _, r := range underWay {
			switch {
			case r.Agent != row.ID:
			case r.State == fika.Running:
				v.Running = append(v.Running, r)
			default:
				v.Suspended = append(v.Suspended, r)
			}
		}
		lock, err := s.home.Folder(row.Name).Inspect()
		if err != nil {
			lock = folder.LockState{}
		}
		v.judge(lock, hub, now)
		s.explain(ctx, &v, now)
		s.resting(ctx, &v, now)
		out = append(out, v)
	}
	return out, nil
}

// judge says how the agent's process is. Held locks and heartbeats decide; the
// row's state is only what was last said.
func (v *AgentView) judge(lock folder.LockState, hub bool, now time.Time) {
	row := v.Row
	v.Status, v.Why = fika.AgentStopped, row.StateReason
	switch {
	case lock.Held && lock.Info.Kind != folder.LockAgent:
		v.PID, v.Status, v.Why = lock.Info.PID, AgentInUse, fmt.Sprintf("a prompt (pid %d) has its context", lock.Info.PID)
	case lock.Held:
		v.PID, v.Since, v.Processed = lock.Info.PID, lock.Info.Since, row.Processed
		v.judgeAlive(lock, now)
	case row.State == fika.AgentFailed:
		v.Status = fika.AgentFailed
	case row.Desired.Stopped() || row.ID == "":
		v.Why = ""
	case hub && (row.State == fika.AgentStarting || row.State == fika.AgentUnhealthy):
		v.Status = row.State
	case row.Owner != "" && row.State != fika.AgentStopped:
		v.Why = "its process ended without a word"
	}
}

func (v *AgentView) judgeAlive(lock folder.LockState, now time.Time) {
	silent := min(lock.Age, now.Sub(v.Row.SeenAt))
	stuck := agentStuck(v.Row.Name, lock)
	switch {
	case stuck != "":
		v.Status, v.Why = fika.AgentUnhealthy, stuck
	case lock.Status == folder.LockStale && silent.Seconds() > 1.5*lock.Info.Heartbeat:
		v.Status, v.Why = fika.AgentUnhealthy, "no sign of life for "+term.Duration(silent.Round(time.Second))
	case v.Row.Desired.Stopped():
		v.Status, v.Why = AgentStopping, ""
	case v.Row.State == fika.AgentUnhealthy:
		v.Status = fika.AgentUnhealthy
	case len(v.Running) > 0:
		v.Status, v.Why = fika.AgentBusy, ""
	case (v.Row.State == fika.AgentIdle || v.Row.State == fika.AgentBusy) && process.Owns(v.Row.Owner, v.PID):
		v.Status, v.Why = fika.AgentIdle, ""
	default: // it has the lock and has not yet said in its row that it is ready
		v.Status, v.Why = fika.AgentStarting, ""
	}
}

// explain adds what a busy agent does, what its last request came to, and what
// of all that is trouble.
func (s *Agents) explain(ctx context.Context, v *AgentView, now time.Time) {
	if v.Row.ID != "" {
		last, err := s.Client.Store.ListRequests(ctx, store.RequestFilter{Agent: v.Row.ID, Limit: 1, States: []fika.RequestState{
			fika.Done, fika.RequestFailed, fika.Cancelled, fika.StateInterrupted, fika.Dead,
		}})
		if err == nil && len(last) == 1 {
			v.Last = &last[0]
		}
	}
	if v.Status == fika.AgentBusy && len(v.Running) > 0 {
		v.Why = s.doing(ctx, v.Running[0], now)
	}
	if v.Why == "" && len(v.Suspended) > 0 {
		v.Why = s.awaited(ctx, v.Suspended, now)
	}
	switch {
	case v.Status == fika.AgentFailed || v.Status == fika.AgentUnhealthy:
		v.Trouble = v.Why
	case v.Status == fika.AgentStopped && v.Why != "" && len(v.Suspended) == 0:
		v.Trouble = v.Why
	case v.Last != nil && (v.Last.State == fika.RequestFailed || v.Last.State == fika.Dead):
		v.Trouble = fmt.Sprintf("its last request failed (%s): %s", term.Ago(v.Last.FinishedAt, now), reasonOf(*v.Last))
	case v.Waiting > 0 && v.Row.Desired.Stopped():
		v.Trouble = fmt.Sprintf("%d waiting, and it was stopped by hand", v.Waiting)
	case v.Waiting > 0 && !v.Alive() && !v.Entry && !s.onlyUnread(ctx, v):
		v.Trouble = fmt.Sprintf("%d waiting, and nobody starts it: fika agent run %s", v.Waiting, v.Row.Name)
	}
}

// onlyUnread reports whether nothing waits for a context but messages, which
// its next prompt reads: that is what an inbox is for, and no trouble.
func (s *Agents) onlyUnread(ctx context.Context, v *AgentView) bool {
	open, err := s.Client.Store.ListRequests(ctx, store.RequestFilter{Agent: v.Row.ID, Limit: 1, States: []fika.RequestState{fika.Open}})
	if err != nil || len(open) > 0 || v.Waiting > 1 {
		return false
	}
	asks, err := s.Client.Store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: v.Row.ID})
	return err == nil && slices.ContainsFunc(asks, func(c store.ConversationInfo) bool { return c.ID == v.Row.ActiveAsk && c.Pending > 0 })
}

// resting adds that the agent's hour is used up, and what waits for the next.
func (s *Agents) resting(ctx context.Context, v *AgentView, now time.Time) {
	why := rests(v.Row, now)
	if why == "" {
		return
	}
	v.HeldUntil, v.Waiting = v.Row.HeldUntil, s.waitingFor(ctx, v.Row.ID)
	if v.Why == "" {
		v.Why = "used up its " + v.Row.HeldReason + ", " + goesOn(v.Row, now)
	}
}

// reasonOf is why a request ended as it did.
func reasonOf(r store.RequestInfo) string {
	if r.Outcome.Error != "" {
		return r.Outcome.Error
	}
	return r.Reason
}

// doing says what step a running request is at, and for how long.
// requestKind names a request of a kind: "an ask", "a chat".
func requestKind(k fika.RequestKind) string {
	switch k {
	case fika.AskRequest:
		return "an ask"
	case fika.TaskRequest:
		return "a task"
	case fika.NotifyRequest:
		return "a chat"
	}
	return "a prompt"
}

func (s *Agents) doing(ctx context.Context, r store.RequestInfo, now time.Time) string {
	steps, err := s.Client.Store.Steps(ctx, r.ID)
	if err == nil {
		for _, st := range slices.Backward(steps) {
			if st.State == fika.StepStarted {
				return fmt.Sprintf("in the tool %s for %s", st.Tool, term.Duration(now.Sub(st.StartedAt)))
			}
		}
	}
	return fmt.Sprintf("works on %s for %s", requestKind(r.Kind), term.Duration(now.Sub(r.StartedAt)))
}

// model names the agent's model as settings have it, without asking the
// network for one where none is configured.
func (s *Agents) model(name fika.AgentName) string {
	keys := s.app.Getenv("ANTHROPIC_API_KEY") + s.app.Getenv("OPENAI_API_KEY") + s.app.Getenv("OPENROUTER_API_KEY")
	entry := s.config().Agent(name)
	if len(s.config().Models) == 0 && s.config().Model == "" && (entry == nil || entry.Model == "") && keys == "" {
		return ""
	}
	set, err := s.app.Settings(name, nil, true)
	if err != nil {
		return ""
	}
	if set.Model.Nickname != "" {
		return set.Model.Nickname
	}
	return set.Model.ID
}
