package daemon

import (
	"context"
	"errors"
	"os"
	"slices"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// mostSent bounds the texts that go to another host with an agent.
const mostSent = 8 << 20

// moveAgents sends the agents that are to go to another host, once no process has them, and
// takes the files of those that have come.
func (h hubHome) moveAgents(ctx context.Context) {
	if h.host == nil {
		return
	}
	for _, m := range h.host.moves() {
		var err error
		if m.Sent {
			err = h.takeAgent(ctx, m)
		} else {
			err = h.sendAgent(ctx, m)
		}
		switch {
		case err == nil:
			h.host.done(m)
		case !fika.IsKind(err, fika.Locked): // a process has it: the next look tries again
			h.app.Log().Warn("move", "agent", m.Agent, "err", err)
		}
	}
}

// sendAgent sends one agent. It keeps it, and says why, if files of it would stay behind that
// nobody has said may. It fails with Locked while a process has it.
func (h hubHome) sendAgent(ctx context.Context, m store.Move) error {
	along, err := h.goesAlong(ctx, m)
	if err != nil {
		return err
	}
	if !m.Leaves && !along { // said at once, not only when its work has ended
		if dir, err := h.filledWorkspace(m.Agent); err != nil || dir != "" {
			why := "its files in " + dir + " would stay on " + h.host.host().Name
			if err != nil {
				why = "where it works cannot be told: " + err.Error()
			}
			return h.store.KeepAtHost(ctx, m.ID, why)
		}
	}
	f := h.home.Folder(m.Agent)
	if state, err := f.Inspect(); err != nil {
		return err
	} else if state.Held {
		return fika.Errorf(fika.Locked, "", "@%s is at work", m.Agent)
	}
	files, size := map[string]string{}, 0
	for _, kind := range folder.TextKinds() {
		t, err := f.Read(kind)
		if err != nil {
			return h.store.KeepAtHost(ctx, m.ID, err.Error())
		}
		if t.Hash != "" {
			files[string(kind)] = t.Body
		}
		size += len(t.Body)
	}
	if size > mostSent {
		return h.store.KeepAtHost(ctx, m.ID, "its texts are larger than 8 MiB together")
	}
	err = h.store.SendToHost(ctx, m.From, m.ID, files)
	if err == nil {
		h.app.Log().Info("sent to another host", "agent", m.Agent, "host", h.hostName(m.To))
	}
	return err
}

// goesAlong reports whether the files of an agent are where the next host can have them.
func (h hubHome) goesAlong(ctx context.Context, m store.Move) (bool, error) {
	c, err := h.app.Config()
	if err != nil || !c.Agent(m.Agent).Moves() {
		return false, err
	}
	list, err := h.store.WorkspacesOf(ctx, m.ID)
	return !slices.ContainsFunc(list, func(w store.Workspace) bool { return w.Unpushed != "" }), err
}

// filledWorkspace returns the folder in which an agent works, if there is anything in it.
func (h hubHome) filledWorkspace(name fika.AgentName) (string, error) {
	s, err := h.app.Settings(name, nil, true)
	if err != nil {
		return "", err
	}
	dir := s.WorkspaceOr(h.home.Folder(name).Workspace())
	if p := h.app.Project(); p != nil {
		dir = p.Main
	}
	list, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(list) == 0 {
		return "", nil
	}
	if err != nil {
		return "", fika.Wrap(fika.Storage, "look at workspace", err)
	}
	return dir, nil
}

// takeAgent writes the texts that have come with an agent. One that was here before and says
// something else is kept beside it.
func (h hubHome) takeAgent(ctx context.Context, m store.Move) error {
	files, err := h.store.SentFiles(ctx, m.ID)
	if err != nil {
		return err
	}
	f, _, err := h.home.Ensure(m.Agent)
	if err != nil {
		return err
	}
	for _, kind := range folder.TextKinds() {
		body, there := files[string(kind)]
		if !there {
			continue
		}
		if err := f.Take(kind, body, "before-move"); err != nil {
			return err
		}
	}
	h.app.Log().Info("came from another host", "agent", m.Agent)
	return h.store.TakeAtHost(ctx, m.ID)
}

// moves returns the agents that are to go, and those that have come.
func (k *hostKeeper) moves() []store.Move {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.news.Moves
}

// done notes that a move needs nothing more here.
func (k *hostKeeper) done(m store.Move) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var left []store.Move
	for _, o := range k.news.Moves {
		if o.ID != m.ID {
			left = append(left, o)
		}
	}
	k.news.Moves = left
	k.moved++
}
