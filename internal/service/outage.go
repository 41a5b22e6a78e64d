package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/system/sleep"
)

// AgentRunning is the status of an agent whose process runs, when the store that says what
// it does cannot be used.
const AgentRunning fika.AgentState = "running"

// StatusWithoutStore is [Service.Status] for a home whose store cannot be used, which why
// says: what the files and processes of the home and its bus show. It starts nothing.
func StatusWithoutStore(ctx context.Context, a *app.App, who api.Principal, why error) (Status, error) {
	l, err := lineOf(a)
	if err != nil {
		return Status{}, err
	}
	l.dial(ctx)
	c := &Service{app: a, home: l.home, who: who, bus: l.bus, subjects: l.subjects, trouble: l.trouble}
	if err := c.may("home.status"); err != nil {
		return Status{}, err
	}
	st := c.statusOfHome(ctx)
	st.StoreTrouble = why.Error()
	st.Store.Path = cmp.Or(config.WithoutSecrets(l.config.Store.URL), l.home.DatabaseFile())
	st.Agents = c.runningAgents(st.Hub.PID != 0)
	for _, x := range l.config.Executors {
		_, runs := l.home.ExecutorProcess(x.Name)
		st.Executors = append(st.Executors, ExecutorStatus{Name: x.Name, User: x.User, Host: x.Host, Running: runs})
	}
	return st, nil
}

// outlasting returns what read returns, once the database can be reached: one on a server that
// is away keeps what somebody waits for. away, which may be nil, is called for each time in vain.
// If ctx ends, it returns the last error.
func outlasting[T any](ctx context.Context, c *Service, away func(), read func(context.Context) (T, error)) (T, error) {
	for {
		out, err := read(ctx)
		if !store.IsBusy(err) || !c.store.Distant() || ctx.Err() != nil {
			return out, err
		}
		if away != nil {
			away()
		}
		if sleep.For(ctx, pollEvery) != nil {
			return out, err
		}
	}
}

// runningAgents returns the agents that the settings name and those that have a process,
// as their locks show them.
func (c *Service) runningAgents(hub bool) []AgentView {
	var names []fika.AgentName
	for _, e := range c.config().Agents {
		names = append(names, fika.AgentName(e.ID))
	}
	for _, h := range c.home.Holders() {
		names = append(names, h.Agent)
	}
	slices.SortFunc(names, func(a, b fika.AgentName) int { return strings.Compare(string(a), string(b)) })
	survey := &agentSurvey{c: c, now: c.now(), hub: hub}
	var out []AgentView
	for _, name := range slices.Compact(names) {
		v := AgentView{Row: fika.Agent{Name: name}}
		survey.addSettings(&v)
		v.Wakes = false // not now
		if lock, err := c.home.Folder(name).Inspect(); err == nil {
			v.judge(lock, hub, survey.now)
		}
		switch {
		case len(v.Members) > 0:
			v.Status = AgentPool
		case v.Status == fika.AgentStarting:
			v.Status = AgentRunning
		}
		if v.Entry || v.PID != 0 {
			out = append(out, v)
		}
	}
	return out
}
