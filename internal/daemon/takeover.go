package daemon

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
	"fika/internal/worker"
)

const (
	takeOverPace = time.Second      // between two looks, while a host is down
	takeOverRest = 15 * time.Second // after an agent could not be taken over
)

// keepTakingOver takes over the agents of hosts that are down and whose files are here as well,
// until ctx ends. It asks the database only while a host is down and this one defines such
// agents.
func (h hubHome) keepTakingOver(ctx context.Context) {
	if h.host == nil {
		return
	}
	t := takeovers{hubHome: h, again: map[fika.AgentID]time.Time{}, said: map[fika.AgentID]string{}}
	for sleep.For(ctx, crash.Pace(takeOverPace)) == nil {
		if err := t.look(ctx); err != nil && ctx.Err() == nil {
			h.app.Log().Warn("take over", "err", err)
		}
	}
}

// takeovers are the agents that this hub has tried to take over. Only its goroutine uses them.
type takeovers struct {
	hubHome
	again map[fika.AgentID]time.Time // when to try again
	said  map[fika.AgentID]string    // why not, as it was last said
}

func (t takeovers) look(ctx context.Context) error {
	names := t.movable()
	if len(names) == 0 || t.host.Drained() || !t.host.anyDown() {
		return nil
	}
	list, err := t.store.Abandoned(ctx, names)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Unpushed != "" || time.Now().Before(t.again[w.Agent]) {
			continue // it waits for its host, which the lists say
		}
		if err := t.takeOver(ctx, w); err != nil {
			t.again[w.Agent] = time.Now().Add(crash.Pace(takeOverRest))
			t.refuse(ctx, w, err)
		}
	}
	return nil
}

// movable returns the agents that this host may go on with. Whether they are on it already,
// the rows say.
func (t takeovers) movable() (out []fika.AgentName) {
	c, err := t.app.Config()
	if err != nil {
		return nil
	}
	for i := range c.Agents {
		if e := &c.Agents[i]; e.Moves() && t.host.Fits(e.RunOn) {
			out = append(out, fika.AgentName(e.ID))
		}
	}
	return out
}

// takeOver takes over one agent if its files are here, or can be had.
func (t takeovers) takeOver(ctx context.Context, w store.Workspace) error {
	c, err := t.app.Config()
	if err != nil {
		return err
	}
	s, err := t.app.Settings(w.AgentName, nil, true)
	if err != nil {
		return err
	}
	meta, err := t.store.Meta(ctx)
	if err != nil {
		return err
	}
	if e := c.Agent(w.AgentName); e != nil && e.WorkspaceOn == config.OnGit {
		err = t.fetch(ctx, w)
	} else {
		err = worker.CheckShared(s.Workspace, meta.StoreID, w)
	}
	if err != nil {
		return err
	}
	if err := t.store.TakeAbandoned(ctx, t.host.session.Host, w, t.app.Definition(w.AgentName)); err != nil {
		return err
	}
	delete(t.again, w.Agent)
	delete(t.said, w.Agent)
	t.app.Log().Info("taken over from a host that is down", "agent", w.AgentName)
	t.host.came()
	return nil
}

// fetch fetches all that was pushed of an agent's files.
func (t takeovers) fetch(ctx context.Context, of store.Workspace) error {
	tree, err := t.app.Worktree(of.AgentName)
	if err != nil {
		return err
	}
	list, err := t.store.WorkspacesOf(ctx, of.Agent)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Unpushed != "" {
			return fika.Errorf(fika.Conflict, "", "its last work is on its host alone")
		}
		if w.Hash == "" {
			continue
		}
		if err := (worker.Carrying{App: t.app, Home: t.host.session.Host, Tree: tree.ForTask(w.Task)}).Fetch(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// refuse says in the database, for who looks at any host, and in the log why an agent could not
// be taken over.
func (t takeovers) refuse(ctx context.Context, w store.Workspace, why error) {
	if fika.IsKind(why, fika.Locked) || ctx.Err() != nil {
		return // somebody has it
	}
	text := t.host.host().Name + " cannot go on with it: " + why.Error()
	if t.said[w.Agent] == text {
		return
	}
	if err := t.store.RefuseTakeOver(ctx, w.Agent, text); err != nil {
		t.app.Log().Warn("take over", "err", err)
		return
	}
	t.said[w.Agent] = text
	t.app.Log().Warn("an agent cannot be taken over", "agent", w.AgentName, "err", why)
}

// anyDown reports whether another host counts as down.
func (k *hostKeeper) anyDown() bool {
	k.mu.Lock()
	others := k.news.Others
	k.mu.Unlock()
	return slices.ContainsFunc(others, func(o store.Host) bool { return !k.Alive(o.ID) })
}

// came notes that an agent has come: it may be started now.
func (k *hostKeeper) came() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.moved++
}
