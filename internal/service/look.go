package service

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/chat"
	"fika/internal/store"
)

// Look returns how the things of a scope stand, as far as the principal may see them, and
// a cursor that was confirmed before they were read: whatever is not in the state comes
// from [Service.Watch] behind that cursor. Error kinds: those of Watch.
func (c *Service) Look(ctx context.Context, scope api.Scope) (st api.State, at api.Cursor, err error) {
	if err := c.may("home.events"); err != nil {
		return st, "", err
	}
	_, named, err := c.eventScope(ctx, scope)
	if err != nil {
		return st, "", err
	}
	l := looking{c: c, v: c.sight(), scope: named}
	place, err := c.tail.Look(ctx, func(ctx context.Context) (err error) {
		st, err = l.state(ctx)
		return err
	})
	return st, api.Cursor(place.String()), err
}

// looking is one look at a scope.
type looking struct {
	c        *Service
	v        *sight
	scope    api.Scope
	requests []string // those of the state
	agents   []string // that work them, or take part in a conversation of the scope
}

func (l *looking) state(ctx context.Context) (st api.State, err error) {
	now, err := l.v.activity(ctx, store.ActivityQuery{})
	if err != nil {
		return st, err
	}
	st.Paused = now.PausedAll
	if st.Requests, err = l.underWay(ctx, now.Requests); err != nil {
		return st, err
	}
	if st.Conversations, err = l.conversations(ctx, now.Pauses, st.Requests); err != nil {
		return st, err
	}
	if st.Agents, err = l.agentsOf(ctx); err != nil {
		return st, err
	}
	open, err := l.v.approvals(ctx)
	if err != nil {
		return st, err
	}
	st.Approvals = []api.ApprovalInfo{}
	for _, a := range open {
		if l.all() || slices.Contains(l.requests, string(a.Request)) {
			st.Approvals = append(st.Approvals, approvalInfo(a))
		}
	}
	if st.Inputs, err = l.inputs(ctx); err != nil {
		return st, err
	}
	if st.Hosts, err = l.hosts(ctx); err != nil {
		return st, err
	}
	if st.Jobs, err = l.jobs(ctx); err != nil {
		return st, err
	}
	runs, err := l.v.runs(ctx, true, 0)
	st.Runs = []api.RunInfo{}
	for _, r := range runs {
		if l.all() || slices.Contains(l.requests, string(r.Request)) || slices.Contains(l.scope.Conversations, string(r.Where)) {
			st.Runs = append(st.Runs, runInfo(r))
		}
	}
	return st, err
}

// inputs returns what waits for turns of the scope.
func (l *looking) inputs(ctx context.Context) ([]api.InputInfo, error) {
	out := []api.InputInfo{}
	list, err := l.c.store.QueuedInputs(ctx, "")
	for _, in := range list {
		if !inScope(l.scope, string(in.In), string(in.AgentName), "") {
			continue
		}
		may, err := l.v.conversation(ctx, in.Conversation)
		if err != nil {
			return nil, err
		}
		if may {
			out = append(out, inputInfo(in))
		}
	}
	return out, err
}

func inputInfo(in store.Input) api.InputInfo {
	return api.InputInfo{
		ID: string(in.ID), Conversation: string(in.In), Agent: string(in.AgentName), From: in.From, Text: in.Content,
		State: string(in.State), Seq: in.Seq, Created: in.Created,
	}
}

// hosts returns the hosts, if the scope is everything and there are several.
func (l *looking) hosts(ctx context.Context) ([]api.HostInfo, error) {
	out := []api.HostInfo{}
	if !l.all() || !l.c.Hosts().Shared() {
		return out, nil
	}
	list, err := l.c.Hosts().List(ctx)
	if err != nil || len(list) < 2 {
		return out, err
	}
	for _, h := range list {
		out = append(out, api.HostInfo{Name: h.Name, Here: h.Here, Up: h.Up, State: h.StateWord(), Drained: h.State == store.HostDrained, Seen: h.Seen})
	}
	return out, nil
}

// all reports whether the scope is everything.
func (l *looking) all() bool { return wholeScope(l.scope) }

// underWay returns the unfinished requests of the scope and those that it names.
func (l *looking) underWay(ctx context.Context, list []store.Underway) ([]api.RequestInfo, error) {
	out := []api.RequestInfo{}
	add := func(u store.Underway) {
		out = append(out, requestInfo(u))
		l.requests, l.agents = append(l.requests, string(u.ID)), append(l.agents, string(u.AgentName))
	}
	for _, u := range list { // children come behind their parents
		if inScope(l.scope, string(u.ConversationName), string(u.AgentName), string(u.ID)) ||
			l.scope.Tree && u.Parent != "" && slices.Contains(l.requests, string(u.Parent)) {
			add(u)
		}
	}
	for _, id := range l.scope.Requests {
		if slices.Contains(l.requests, id) {
			continue
		}
		r, err := l.c.store.Request(ctx, fika.RequestID(id)) // it has ended; the scope was checked
		switch {
		case err == nil:
			add(store.Underway{RequestInfo: r})
		case !fika.IsKind(err, fika.NotFound):
			return nil, err
		}
	}
	return out, nil
}

// conversations returns those that the scope names, or the newest of all, and those of
// requests.
func (l *looking) conversations(ctx context.Context, pauses []store.Pause, requests []api.RequestInfo) ([]api.ConversationInfo, error) {
	var newest []ConversationInfo
	names := slices.Clone(l.scope.Conversations)
	if l.all() {
		var err error
		if newest, err = l.v.conversations(ctx, store.ConversationFilter{Limit: api.DefaultPage}); err != nil {
			return nil, err
		}
		for _, c := range newest {
			names = append(names, string(c.Name))
		}
	}
	for _, r := range requests {
		if !slices.Contains(names, r.Conversation) && r.Conversation != "" {
			names = append(names, r.Conversation)
		}
	}
	out := []api.ConversationInfo{}
	for i, name := range names {
		var info ConversationInfo
		var err error
		if i < len(newest) {
			info = newest[i]
		} else if err = l.conversation(ctx, name, &info); err != nil {
			if fika.IsKind(err, fika.NotFound) {
				continue
			}
			return nil, err
		}
		x := conversationInfo(info)
		if info.Kind == fika.Chat && slices.Contains(l.scope.Conversations, name) {
			items, err := l.c.Chats.Queue(ctx, info.ID)
			if err != nil {
				return nil, err
			}
			idle, _ := chat.IsIdle(items)
			if idle { // the last turn may have ended since the row was read, with its answer
				err = l.conversation(ctx, name, &info)
			}
			if fika.IsKind(err, fika.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			x.Busy, x.Seq = !idle, info.LastSeq
		}
		for _, p := range pauses {
			if p.Conversation == info.ID && p.Owner != "" {
				x.Held = append(x.Held, p.Owner)
			}
		}
		if x.Limit, err = l.limitHit(ctx, info.Conversation); err != nil {
			return nil, err
		}
		out = append(out, x)
		if slices.Contains(l.scope.Conversations, name) {
			l.agents = append(append(l.agents, info.Participants...), x.Agent)
		}
	}
	return out, nil
}

// limitHit returns the limit that has stopped the latest chain of a chat of the last day.
func (l *looking) limitHit(ctx context.Context, c fika.Conversation) (string, error) {
	if c.Kind != fika.Chat || l.c.now().Sub(c.UpdatedAt) > 24*time.Hour {
		return "", nil
	}
	chains, err := l.c.store.Chains(ctx, c.ID)
	if err != nil || len(chains) == 0 {
		return "", err
	}
	return chains[0].LimitHit, nil
}

// conversation reads a conversation that may be seen; NotFound if it may not.
func (l *looking) conversation(ctx context.Context, name string, into *ConversationInfo) (err error) {
	if into.Conversation, err = l.c.store.Conversation(ctx, fika.ConversationName(name)); err != nil {
		return err
	}
	may, err := l.v.conversation(ctx, into.ID)
	if err != nil {
		return err
	}
	if !may {
		return fika.Errorf(fika.NotFound, "", "no conversation named %q", name)
	}
	if into.Kind == fika.Chat {
		into.Participants, err = l.c.store.Participants(ctx, into.ID)
		return err
	}
	owner, err := (&eventNames{c: l.c, agents: map[fika.AgentID]string{}}).agent(ctx, into.Agent)
	into.AgentName = fika.AgentName(owner)
	return err
}

// agentsOf returns the agents of the scope.
func (l *looking) agentsOf(ctx context.Context) ([]api.AgentInfo, error) {
	return l.c.Agents.infos(ctx, func(name fika.AgentName) bool {
		return l.all() || slices.Contains(l.scope.Agents, string(name)) || slices.Contains(l.agents, string(name))
	})
}

// infos returns the agents by name that are wanted and that the principal may know of.
func (s *Agents) infos(ctx context.Context, wanted func(fika.AgentName) bool) ([]api.AgentInfo, error) {
	if err := s.c.may("agent.list"); err != nil {
		return nil, err
	}
	rows, err := s.Rows(ctx)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r fika.Agent) bool { return !wanted(r.Name) || !s.c.who.Reaches(string(r.Name)) })
	slices.SortFunc(rows, func(a, b fika.Agent) int { return cmp.Compare(a.Name, b.Name) })
	views, err := s.views(ctx, rows)
	out := []api.AgentInfo{}
	for _, v := range views {
		info := agentInfo(v)
		if s.c.sight().full() {
			info.Workspace = s.workspace(v.Row.Name)
		}
		out = append(out, info)
	}
	return out, err
}

// workspace returns the folder that an agent works in when the hub has started it; "" if
// its settings cannot be read, and for a pool.
func (s *Agents) workspace(name fika.AgentName) string {
	if conf := s.c.config(); conf.Agent(name) == nil {
		return ""
	}
	settings, err := s.c.app.Settings(name, nil, true)
	if err != nil {
		return ""
	}
	project := s.c.app.Project()
	switch {
	case project != nil && (settings.Worktree || settings.Workspace == ""):
		return project.Main
	case settings.Worktree:
		return ""
	}
	return settings.WorkspaceOr(s.c.home.Folder(name).Workspace())
}

// wholeScope reports whether a scope is everything.
func wholeScope(s api.Scope) bool { return len(s.Conversations)+len(s.Agents)+len(s.Requests) == 0 }

// inScope reports whether what belongs to these is in a scope.
func inScope(s api.Scope, conversation, agent, request string) bool {
	return wholeScope(s) || slices.Contains(s.Conversations, conversation) || slices.Contains(s.Agents, agent) || slices.Contains(s.Requests, request)
}

func agentInfo(v AgentView) api.AgentInfo {
	out := api.AgentInfo{
		Name: string(v.Row.Name), DisplayName: v.Row.DisplayName, Description: v.Row.Description,
		Host: v.Host, State: string(v.Status), Word: v.StatusWord(), Model: v.Model, Waiting: v.Waiting,
		Why: v.Standing(), Trouble: v.Trouble,
	}
	for _, r := range v.Running {
		out.Running = append(out.Running, string(r.ID))
	}
	return out
}

func conversationInfo(c ConversationInfo) api.ConversationInfo {
	return api.ConversationInfo{
		Name: string(c.Name), Kind: string(c.Kind), Agent: string(c.AgentName), Participants: c.Participants,
		Session: IsSessionName(c.Name), Seq: c.LastSeq, Paused: c.Paused, Mode: string(c.Mode), Updated: c.UpdatedAt,
	}
}

func requestInfo(u store.Underway) api.RequestInfo {
	out := api.RequestInfo{
		ID: string(u.ID), Kind: string(u.Kind), State: string(u.State), Agent: string(u.AgentName), Conversation: string(u.ConversationName),
		Chain: string(u.Chain), Parent: string(u.Parent), Task: int64(u.Task), Tool: u.Tool, Since: u.ToolSince, Calls: u.Calls, Approval: u.Approval,
		Answer: u.Outcome.Seq, Cancelling: !u.CancelAt.IsZero() && !u.State.Terminal(), Created: u.CreatedAt, Ended: u.FinishedAt,
	}
	switch {
	case u.State == fika.Waiting:
		out.Wait = u.Reason
	case u.State == fika.RequestFailed:
		out.Error = cmp.Or(kindCode(u.Outcome.ErrorKind), api.Internal)
		out.Detail = strings.ToValidUTF8(u.Outcome.Error[:min(len(u.Outcome.Error), 300)], "")
	}
	return out
}

func approvalInfo(a OpenApproval) api.ApprovalInfo {
	out := api.ApprovalInfo{
		Number: a.N, Request: string(a.Request), Agent: string(a.Agent), Conversation: string(a.Conversation), Tool: a.Tool,
		Workspace: a.Workspace, What: a.What, Rule: a.Rule, State: string(a.State), Asked: a.Asked, Expires: a.Expires,
	}
	if a.FlowStep == "" {
		out.CallID = store.CallID(a.Request, a.Step)
	}
	if q, ok := StepQuestionOf(a); ok {
		out.Choice, out.Answer = q.Choice, q.Answer
	}
	if out.Args = json.RawMessage(a.Args); !json.Valid(out.Args) {
		out.Args, _ = json.Marshal(a.Args) // of a string it cannot fail
	}
	return out
}

func runInfo(r Run) api.RunInfo {
	out := api.RunInfo{
		ID: string(r.ID), Name: r.Name, Title: r.Title, Conversation: string(r.Where), State: string(r.State),
		Paused: !r.Paused.IsZero(), Begun: r.Begun, Ended: r.Ended,
	}
	if r.Result != nil {
		out.Limit = r.Result.Limit
	}
	return out
}
