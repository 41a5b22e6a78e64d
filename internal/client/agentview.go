package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/process"
	"fika/internal/store"
	"fika/internal/term"
	"fika/internal/worker"
)

// AgentView is what lists show of an agent, put together from its row, its
// lock, the queue and the config, so that it is true also when its process
// can say nothing any more.
type AgentView struct {
	Row   fika.Agent
	Entry bool     // it has an [[agents]] entry: the hub may start it
	Can   []string // its capabilities, as the entry names them
	// CallableBy says who may ask it; nil: everybody.
	CallableBy []string
	Status     fika.AgentState // of its process: what is, not what was last said
	Why        string          // what is wrong, or what it is doing
	PID        int             // 0: no process
	Since      time.Time       // of the process; zero: none
	Processed  int64           // requests finished since then
	Waiting    int             // requests and chats it could take now
	Running    []RequestInfo
	Suspended  []RequestInfo // requests that wait: for a child, for the end of a pause
	Model      string        // nickname or id; empty: not known without asking the network
	// Choice is how it chooses among several models; of one alone it is empty.
	Choice     config.ModelChoice
	Last       *RequestInfo
	Trouble    string           // empty: healthy
	NoLimits   string           // why the limits of its tools are not kept; empty: they are, or there are none
	Pool       fika.AgentName   // that it is a member of; empty: none
	Members    []fika.AgentName // of a pool
	Backup     []fika.AgentName
	HandedOver []RequestInfo // that it was asked for and others work or have worked, newest first
	HeldUntil  time.Time     // its hour is used up; zero: it is not
}

// The statuses a list adds to those of a process.
const (
	AgentStopping fika.AgentState = "stopping"
	AgentInUse    fika.AgentState = "in use" // a one-shot prompt has its context
	AgentPool     fika.AgentState = "pool"   // its members have processes
)

// Alive reports whether its process runs.
func (v AgentView) Alive() bool { return v.PID != 0 && v.Status != AgentInUse }

// views looks at each agent's lock and at the queue.
func (s *Agents) views(ctx context.Context, rows []fika.Agent) ([]AgentView, error) {
	work, err := s.c.store.WithWork(ctx)
	if err != nil {
		return nil, err
	}
	underWay, err := s.c.store.ListRequests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Running, fika.Waiting}})
	if err != nil {
		return nil, err
	}
	_, hub := s.c.home.HubProcess()
	now := s.c.now()
	out := make([]AgentView, 0, len(rows))
	for _, row := range rows {
		v := AgentView{Row: row}
		v.Model, v.Choice = s.model(row.Name)
		v.NoLimits = worker.NoLimits(s.c.app, s.c.home.Root, row.Name)
		v.CallableBy, _ = s.c.app.CallableBy(row.Name) // where it cannot be read, doctor says so
		if entry := s.c.config().Agent(row.Name); entry != nil {
			v.Entry, v.Can, v.Pool, v.Members = true, entry.Capabilities, fika.AgentName(entry.Pool), entry.Members()
			for _, name := range entry.Backup {
				v.Backup = append(v.Backup, fika.AgentName(name))
			}
			if entry.Description != "" { // the row has that of its last start
				v.Row.Description = entry.Description
			}
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
		lock, err := s.c.home.Folder(row.Name).Inspect()
		if err != nil {
			lock = folder.LockState{}
		}
		v.judge(lock, hub, now)
		if len(v.Members) > 0 {
			if err := s.judgePool(ctx, &v); err != nil {
				return nil, err
			}
			out = append(out, v)
			continue
		}
		s.addReasons(ctx, &v, now)
		s.addQuota(ctx, &v, now)
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

// judgePool says how the members of a pool are, and what was handed over from it.
func (s *Agents) judgePool(ctx context.Context, v *AgentView) error {
	members, err := s.Members(ctx, []fika.Agent{v.Row})
	if err != nil {
		return err
	}
	views, err := s.views(ctx, members)
	if err != nil {
		return err
	}
	how := map[fika.AgentState]int{}
	var order []fika.AgentState
	for _, m := range views {
		if how[m.Status]++; how[m.Status] == 1 {
			order = append(order, m.Status)
		}
	}
	slices.Sort(order)
	var parts []string
	for _, status := range order {
		parts = append(parts, fmt.Sprintf("%d %s", how[status], status))
	}
	v.Status, v.Why = AgentPool, fmt.Sprintf("%d members: %s", len(views), strings.Join(parts, ", "))
	if v.Waiting > 0 && how[fika.AgentFailed] == len(views) {
		v.Trouble = fmt.Sprintf("%d waiting, and all members have failed", v.Waiting)
	}
	if handed, err := s.c.store.ListRequests(ctx, store.RequestFilter{Addressed: v.Row.ID, Handed: true, Limit: mostHanded}); err == nil && v.Row.ID != "" {
		v.HandedOver = handed
	}
	return nil
}

func (v *AgentView) judgeAlive(lock folder.LockState, now time.Time) {
	silent := min(lock.Age, now.Sub(v.Row.SeenAt))
	stuck := stuckHolder(v.Row.Name, lock)
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

// addReasons adds what a busy agent does, what its last request came to, and what
// of all that is trouble.
func (s *Agents) addReasons(ctx context.Context, v *AgentView, now time.Time) {
	if v.Row.ID != "" {
		last, err := s.c.store.ListRequests(ctx, store.RequestFilter{Agent: v.Row.ID, Limit: 1, States: []fika.RequestState{
			fika.Done, fika.RequestFailed, fika.Cancelled, fika.StateInterrupted, fika.Dead,
		}})
		if err == nil && len(last) == 1 {
			v.Last = &last[0]
		}
		if handed, err := s.c.store.ListRequests(ctx, store.RequestFilter{Addressed: v.Row.ID, Handed: true, Limit: mostHanded}); err == nil {
			v.HandedOver = handed
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

// mostHanded is how many of the requests that were handed over a view has.
const mostHanded = 5

// onlyUnread reports whether nothing waits for a context but messages, which
// its next prompt reads: that is what an inbox is for, and no trouble.
func (s *Agents) onlyUnread(ctx context.Context, v *AgentView) bool {
	open, err := s.c.store.ListRequests(ctx, store.RequestFilter{Agent: v.Row.ID, Limit: 1, States: []fika.RequestState{fika.Open}})
	if err != nil || len(open) > 0 || v.Waiting > 1 {
		return false
	}
	asks, err := s.c.store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: v.Row.ID})
	return err == nil && slices.ContainsFunc(asks, func(c store.ConversationInfo) bool { return c.ID == v.Row.ActiveAsk && c.Pending > 0 })
}

// addQuota adds that the agent's hour is used up, and what waits for the next.
func (s *Agents) addQuota(ctx context.Context, v *AgentView, now time.Time) {
	why := app.QuotaUsedUp(v.Row, now)
	if why == "" {
		return
	}
	v.HeldUntil, v.Waiting = v.Row.HeldUntil, s.waitingFor(ctx, v.Row.ID)
	if v.Why == "" {
		v.Why = "used up its " + v.Row.HeldReason + ", " + app.ResumesAt(v.Row, now)
	}
}

// reasonOf is why a request ended as it did.
func reasonOf(r RequestInfo) string {
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

func (s *Agents) doing(ctx context.Context, r RequestInfo, now time.Time) string {
	steps, err := s.c.store.Steps(ctx, r.ID)
	if err == nil {
		for _, st := range slices.Backward(steps) {
			if st.State == fika.StepStarted {
				return fmt.Sprintf("in the tool %s for %s", st.Tool, term.Duration(now.Sub(st.StartedAt)))
			}
		}
	}
	return fmt.Sprintf("works on %s for %s", requestKind(r.Kind), term.Duration(now.Sub(r.StartedAt)))
}

// model names the agent's model as settings have it, the first of several, without
// asking the network for one where none is configured.
func (s *Agents) model(name fika.AgentName) (string, config.ModelChoice) {
	keys := s.c.app.Getenv("ANTHROPIC_API_KEY") + s.c.app.Getenv("OPENAI_API_KEY") + s.c.app.Getenv("OPENROUTER_API_KEY")
	entry := s.c.config().Agent(name)
	if len(s.c.config().Models) == 0 && s.c.config().Model == "" && (entry == nil || entry.Model == "" && len(entry.Models) == 0) && keys == "" {
		return "", config.ModelChoice{}
	}
	set, err := s.c.app.Settings(name, nil, true)
	if err != nil {
		return "", config.ModelChoice{}
	}
	return set.Model.ShortName(), set.Choice
}

// waitingFor counts what an agent would take if its hour were not used up:
// requests, and conversations with notifications.
func (s *Agents) waitingFor(ctx context.Context, id fika.AgentID) int {
	a, err := s.c.store.Activity(ctx, store.ActivityQuery{DroppedSince: s.c.now()})
	if err != nil {
		return 0
	}
	n, seen := 0, map[fika.ConversationID]bool{}
	for _, r := range a.Requests {
		if r.Agent == id && r.State == fika.Open {
			n++
		}
	}
	for _, x := range a.Notifications {
		if x.Agent == id && x.State == fika.NotificationPending && !seen[x.Conversation] {
			seen[x.Conversation] = true
			n++
		}
	}
	return n
}

// Summary says how a list of agents is, as one line.
func Summary(views []AgentView) string {
	running, bad := 0, 0
	views = slices.DeleteFunc(slices.Clone(views), func(v AgentView) bool { return v.Status == AgentPool && v.Trouble == "" })
	for _, v := range views {
		if v.Alive() {
			running++
		}
		if v.Trouble != "" {
			bad++
		}
	}
	switch {
	case len(views) == 0:
		return "No agents are configured"
	case bad == 0:
		return fmt.Sprintf("All agents healthy (%d/%d running)", running, len(views))
	default:
		return fmt.Sprintf("%d of %d agents need attention (%d/%d running)", bad, len(views), running, len(views))
	}
}

// asksBeforeCall is said of what waits for an approval.
const asksBeforeCall = "waits for your word on a tool call: fika approve"

// awaited says for whom an agent's suspended requests wait, and why one of
// those might be long in coming, and whether they wait for a person's word;
// empty: for nobody.
func (s *Agents) awaited(ctx context.Context, waiting []RequestInfo, now time.Time) string {
	var parts []string
	asks := false
	for _, r := range waiting {
		asks = asks || fika.WaitReason(r.Reason) == fika.WaitApproval
		if fika.WaitReason(r.Reason) != fika.WaitChild {
			continue
		}
		children, err := s.c.store.Children(ctx, r.ID)
		if err != nil {
			continue
		}
		for _, k := range children {
			if !k.State.Terminal() {
				parts = append(parts, s.awaitedOne(ctx, k, now))
			}
		}
	}
	switch {
	case asks:
		return asksBeforeCall // the one that a person can end
	case len(parts) == 0:
		return ""
	}
	slices.Sort(parts)
	return "waits for " + strings.Join(slices.Compact(parts), ", ")
}

func (s *Agents) awaitedOne(ctx context.Context, k store.Child, now time.Time) string {
	var notes []string
	if row, err := s.c.store.Agent(ctx, k.AgentName); err == nil {
		switch {
		case row.Desired.Stopped():
			notes = append(notes, "stopped by hand")
		case row.State == fika.AgentFailed:
			notes = append(notes, "failed")
		case k.State == fika.Open && s.c.config().Agent(k.AgentName) == nil && row.Owner == "":
			notes = append(notes, "nobody starts it: fika agent run "+string(k.AgentName))
		}
	}
	if left := k.Deadline.Sub(now); left > 0 {
		notes = append(notes, fmt.Sprintf("at most %s more", left.Round(time.Second)))
	}
	return fmt.Sprintf("@%s (%s)", k.AgentName, strings.Join(notes, ", "))
}
