package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/worker"
)

// agentSurvey is one look at the agents: it holds what is the same for all of them at
// that moment.
type agentSurvey struct {
	c        *Service
	now      time.Time
	hub      bool   // a hub runs
	home     string // the id of this one; empty: there are no others
	hosts    hostsKnown
	work     []store.Work            // what each agent could take
	underWay []RequestInfo           // running requests, and those suspended midway
	unpushed map[fika.AgentID]string // why the last work of an agent is on its host alone
}

// newAgentSurvey reads the queue and looks for a hub.
func newAgentSurvey(ctx context.Context, c *Service) (*agentSurvey, error) {
	work, err := c.store.WithWork(ctx)
	if err != nil {
		return nil, err
	}
	underWay, err := c.sight().requests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Running, fika.Waiting}})
	if err != nil {
		return nil, err
	}
	hosts, err := c.hosts(ctx)
	if err != nil {
		return nil, err
	}
	home, unpushed := "", map[fika.AgentID]string{}
	if hosts != nil {
		alone, err := c.store.Unpushed(ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range alone {
			unpushed[w.Agent] = "its last work is on its host alone: " + w.Unpushed
		}
		if home, err = c.home.ID(); err != nil {
			return nil, err
		}
	}
	_, hub := c.home.HubProcess()
	return &agentSurvey{c: c, now: c.now(), hub: hub, home: home, hosts: hosts, work: work, underWay: underWay, unpushed: unpushed}, nil
}

// views returns the views of agents, including the members of pools.
func (s *agentSurvey) views(ctx context.Context, rows []fika.Agent) ([]AgentView, error) {
	out := make([]AgentView, 0, len(rows))
	for _, row := range rows {
		v := AgentView{Row: row}
		s.addWork(&v)
		if len(s.hosts) > 1 {
			v.Host = s.hosts.of(row).Name
		}
		if s.hosts != nil && row.HomeID != "" && row.HomeID != s.home {
			s.addAway(ctx, &v)
			s.addReasons(ctx, &v)
			out = append(out, v)
			continue
		}
		s.addSettings(&v)
		lock, err := s.c.home.Folder(row.Name).Inspect()
		if err != nil {
			lock = folder.LockState{}
		}
		v.judge(lock, s.hub, s.now)
		if why := s.c.misplaced(ctx, s.hosts, row); !why.IsClear() && v.PID == 0 && !row.Desired.Stopped() {
			v.Why = why
		}
		if len(v.Members) > 0 {
			if err := s.judgePool(ctx, &v); err != nil {
				return nil, err
			}
		} else {
			s.addReasons(ctx, &v)
			s.addQuota(ctx, &v)
		}
		out = append(out, v)
	}
	return out, nil
}

// addAway adds how an agent of another host is, and what that host says about it.
func (s *agentSurvey) addAway(ctx context.Context, v *AgentView) {
	v.CallableBy = s.callableBy(ctx, v.Row.Name)
	away := s.c.isAway(ctx, s.hosts.of(v.Row), v.Row)
	if d, _, err := s.c.store.Defined(ctx, v.Row.Name); err == nil {
		v.Entry, v.Wakes = d.Entry && !v.Row.IsPool(), away.IsClear() && (d.Wakes || v.Row.Desired == fika.DesiredRunning)
	}
	if away.IsClear() {
		away = s.c.misplaced(ctx, s.hosts, v.Row)
	}
	v.judgeAway(away, s.now)
}

// addSettings adds what the configuration says about an agent.
func (s *agentSurvey) addSettings(v *AgentView) {
	name := v.Row.Name
	v.Model, v.Choice = s.modelOf(name)
	v.NoLimits = worker.NoLimits(s.c.app, s.c.home.Root, name)
	v.CallableBy, _ = s.c.app.OwnCallers(name) // if it cannot be read, doctor reports that
	entry := s.c.config().Agent(name)
	if entry == nil {
		return
	}
	v.Entry, v.Can, v.Pool, v.Members = true, entry.Capabilities, fika.AgentName(entry.Pool), entry.Members()
	v.Wakes = s.c.wakes(v.Row, entry)
	for _, backup := range entry.Backup {
		v.Backup = append(v.Backup, fika.AgentName(backup))
	}
	if entry.Description != "" { // the row has the description of its last start
		v.Row.Description = entry.Description
	}
}

// callableBy returns who may ask an agent of another host: nobody, if that has not said it.
func (s *agentSurvey) callableBy(ctx context.Context, name fika.AgentName) []string {
	by, err := s.c.app.CallableBy(ctx, name)
	if err != nil {
		return []string{}
	}
	return by
}

// addWork adds what an agent works on and what it could take.
func (s *agentSurvey) addWork(v *AgentView) {
	for _, w := range s.work {
		if w.Agent == v.Row.Name {
			v.Waiting = w.Open
		}
	}
	for _, r := range s.underWay {
		switch {
		case r.Agent != v.Row.ID:
		case r.State == fika.Running:
			v.Running = append(v.Running, r)
		default:
			v.Suspended = append(v.Suspended, r)
		}
	}
}

// judgePool sets the status of a pool from its members, and adds the requests that were
// handed over from it.
func (s *agentSurvey) judgePool(ctx context.Context, v *AgentView) error {
	members, err := s.c.Agents.Members(ctx, []fika.Agent{v.Row})
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
	v.Status, v.Why = AgentPool, v.says(api.PoolMembers, "members", strconv.Itoa(len(views)), "list", strings.Join(parts, ", "))
	if v.Waiting > 0 && how[fika.AgentFailed] == len(views) {
		v.Trouble = v.says(api.PoolFailed, "waiting", strconv.Itoa(v.Waiting))
	}
	if handed, err := s.c.sight().requests(ctx, store.RequestFilter{Addressed: v.Row.ID, Handed: true, Limit: mostHanded}); err == nil && v.Row.ID != "" {
		v.HandedOver = handed
	}
	return nil
}

// addReasons adds what a busy agent is doing, the outcome of its last request, and
// which of all this is trouble.
func (s *agentSurvey) addReasons(ctx context.Context, v *AgentView) {
	if v.Row.ID != "" {
		last, err := s.c.sight().requests(ctx, store.RequestFilter{Agent: v.Row.ID, Limit: 1, States: fika.EndedStates()})
		if err == nil && len(last) == 1 {
			v.Last = &last[0]
		}
		if handed, err := s.c.sight().requests(ctx, store.RequestFilter{Addressed: v.Row.ID, Handed: true, Limit: mostHanded}); err == nil {
			v.HandedOver = handed
		}
	}
	if v.Status == fika.AgentBusy && len(v.Running) > 0 {
		v.Why = s.currentStep(ctx, v.Running[0])
	}
	if v.Why.IsClear() && len(v.Suspended) > 0 {
		v.Why = s.awaited(ctx, v.Suspended)
	}
	switch {
	case v.Status == fika.AgentFailed || v.Status == fika.AgentUnhealthy:
		v.Trouble = v.Why
	case !s.hub && !v.Away && !v.Alive() && v.Status != AgentInUse && slices.ContainsFunc(v.Running, func(r RequestInfo) bool { return r.Origin == fika.Queued }):
		v.Trouble = v.says(api.WorkAbandoned)
	case !s.hub && !v.Away && !v.Alive() && v.Wakes && v.Waiting > 0:
		v.Trouble = v.says(api.AgentNoHub)
	case v.Status == fika.AgentStopped && !v.Why.IsClear() && len(v.Suspended) == 0:
		v.Trouble = v.Why
	case v.Why.Code == api.WaitingLimit:
		v.Trouble = v.Why
	case v.Last != nil && (v.Last.State == fika.RequestFailed || v.Last.State == fika.Dead):
		v.Trouble = v.says(api.AgentLastFailed, "at", v.Last.FinishedAt.UTC().Format(time.RFC3339), "reason", reasonOf(*v.Last))
	case s.unpushed[v.Row.ID] != "":
		v.Trouble = v.says(api.AgentReports, "reason", s.unpushed[v.Row.ID])
	case v.Waiting > 0 && v.Row.Desired.Stopped():
		v.Trouble = v.says(api.AgentWorkStopped, "waiting", strconv.Itoa(v.Waiting))
	case v.Waiting > 0 && !v.Alive() && !v.Entry && !s.onlyUnread(ctx, v):
		v.Trouble = v.says(api.AgentWorkAbsent, "waiting", strconv.Itoa(v.Waiting))
	}
}

// mostHanded is the most handed-over requests that a view contains.
const mostHanded = 5

// onlyUnread reports whether nothing but messages wait for a context. Its next prompt
// reads them: that is what an inbox is for, and no trouble.
func (s *agentSurvey) onlyUnread(ctx context.Context, v *AgentView) bool {
	open, err := s.c.sight().requests(ctx, store.RequestFilter{Agent: v.Row.ID, Limit: 1, States: []fika.RequestState{fika.Open}})
	if err != nil || len(open) > 0 || v.Waiting > 1 {
		return false
	}
	asks, err := s.c.sight().conversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: v.Row.ID})
	return err == nil && slices.ContainsFunc(asks, func(c store.ConversationInfo) bool { return c.ID == v.Row.ActiveAsk && c.Pending > 0 })
}

// addQuota adds that the agent's hour is used up, and how much waits for the next.
func (s *agentSurvey) addQuota(ctx context.Context, v *AgentView) {
	why := s.c.Availability.quota(v.Row)
	if why.IsClear() {
		return
	}
	v.HeldUntil, v.Waiting = v.Row.HeldUntil, s.waitingFor(ctx, v.Row.ID)
	if v.Why.IsClear() {
		v.Why = why
	}
}

// currentStep says which step a running request is in, and for how long.
func (s *agentSurvey) currentStep(ctx context.Context, r RequestInfo) api.Status {
	if n := s.c.openApproval(ctx, r.ID); n != 0 {
		return api.Suspended{Reason: fika.WaitApproval, Agent: r.AgentName, Approval: n}.Status()
	}
	steps, err := s.c.store.Steps(ctx, r.ID)
	if err == nil {
		for _, st := range slices.Backward(steps) {
			if st.State == fika.StepStarted {
				return api.Stands(api.WorkTool, "tool", st.Tool, "seconds", seconds(s.now.Sub(st.StartedAt)))
			}
		}
	}
	return api.Stands(api.WorkRequest, "kind", string(r.Kind), "seconds", seconds(s.now.Sub(r.StartedAt)))
}

// modelOf returns the agent's model from its settings, the first if there are several.
// If none is configured, it does not ask the network for one.
func (s *agentSurvey) modelOf(name fika.AgentName) (string, config.ModelChoice) {
	hasKey := slices.ContainsFunc(config.UsualKeys(), func(name string) bool { return s.c.app.Getenv(name) != "" })
	entry := s.c.config().Agent(name)
	if len(s.c.config().Models) == 0 && s.c.config().Model == "" && (entry == nil || entry.Model == "" && len(entry.Models) == 0 && entry.Engine == "") && !hasKey {
		return "", config.ModelChoice{}
	}
	set, err := s.c.app.Settings(name, nil, true)
	if err != nil {
		return "", config.ModelChoice{}
	}
	return set.Model.ShortName(), set.Choice
}

// waitingFor counts what an agent would take if its hour were not used up: requests,
// and conversations with notifications.
func (s *agentSurvey) waitingFor(ctx context.Context, id fika.AgentID) int {
	a, err := s.c.sight().activity(ctx, store.ActivityQuery{DroppedSince: s.now})
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

// awaited says for whom an agent's suspended requests wait, why one of those might take
// long, and whether they wait for a person's approval, a provider or a budget. It is clear
// if they wait for nobody.
func (s *agentSurvey) awaited(ctx context.Context, waiting []RequestInfo) api.Status {
	parts := map[fika.AgentName]api.Status{}
	for _, r := range waiting {
		switch fika.WaitReason(r.Reason) {
		case fika.WaitApproval:
			return api.Suspended{Reason: fika.WaitApproval, Agent: r.AgentName, Approval: s.c.openApproval(ctx, r.ID)}.Status() // this is the one that a person can end
		case fika.WaitProvider, fika.WaitLimit:
			if why := s.c.whyLimited(ctx, r); !why.IsClear() {
				return why
			}
			continue
		case fika.WaitChild:
		default:
			continue
		}
		children, err := s.c.store.Children(ctx, r.ID)
		if err != nil {
			continue
		}
		for _, k := range children {
			if !k.State.Terminal() {
				parts[k.AgentName] = s.awaitedOne(ctx, k)
			}
		}
	}
	if len(parts) == 0 {
		return api.Status{}
	}
	why := api.Stands(api.WaitingAgents)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		why = why.With(parts[name])
	}
	return why
}

// awaitedOne names a child that is being waited for, and says what might delay it.
func (s *agentSurvey) awaitedOne(ctx context.Context, k store.Child) api.Status {
	name := string(k.AgentName)
	left := ""
	if d := k.Deadline.Sub(s.now); d > 0 {
		left = seconds(d)
	}
	one := api.Stands(api.WaitingAgent, "agent", name, "seconds", left)
	if row, err := s.c.store.Agent(ctx, k.AgentName); err == nil {
		switch {
		case row.Desired.Stopped():
			return one.With(api.Stands(api.AgentStopped, "agent", name))
		case row.State == fika.AgentFailed:
			return one.With(api.Stands(api.AgentFailed, "agent", name))
		case k.State == fika.Open && s.c.config().Agent(k.AgentName) == nil && row.Owner == "":
			return one.With(api.Stands(api.AgentAbsent, "agent", name))
		}
	}
	return one
}
