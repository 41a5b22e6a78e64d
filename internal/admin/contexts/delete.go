package contexts

import (
	"context"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/worker"
)

// Delete removes a context: its agent with all conversations of its own, then its
// folder. What it said in chats stays. If Delete is interrupted, the same call
// finishes the job. It fails with NotFound when there is neither folder nor agent.
func Delete(ctx context.Context, a *app.App, name fika.AgentName, wait time.Duration, p app.Person) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	f, err := folder.OpenFolder(h, name)
	if fika.IsKind(err, fika.NotFound) {
		return deleteOrphan(ctx, a, h, name, err)
	}
	if err != nil {
		return err
	}
	lock, err := worker.LockFolder(ctx, a, f, wait)
	if err != nil {
		return err
	}
	defer lock.Close()
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := app.FindRow(ctx, s, name)
	if err != nil {
		return err
	}
	if row != nil {
		if err := deleteAgent(ctx, s, h, *row); err != nil {
			return err
		}
	}
	if c, err := a.Config(); err == nil && c.Agent(name) != nil {
		p.Warn("config.toml has an [[agents]] entry for " + string(name) + ": the hub creates it again unless you take that out")
	}
	return lock.Remove()
}

// deleteOrphan deletes an agent of this home whose folder is already gone.
func deleteOrphan(ctx context.Context, a *app.App, h folder.Home, name fika.AgentName, missing error) error {
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := app.FindRow(ctx, s, name)
	if err != nil {
		return err
	}
	if row == nil {
		return missing
	}
	return deleteAgent(ctx, s, h, *row)
}

// deleteAgent deletes the row of an agent that this home owns. It first takes over the
// lease of a dead owner; the folder's lock, or the absence of the folder, permits
// that.
func deleteAgent(ctx context.Context, s *store.Store, h folder.Home, row fika.Agent) error {
	home, err := h.ID()
	if err != nil {
		return err
	}
	if row.HomeID != home {
		return fika.Errorf(fika.Denied, "", "agent %q belongs to another home (%s): delete it there", row.Name, row.HomeID)
	}
	lease, err := s.Acquire(ctx, row.ID, "delete", store.LeaseTime, true)
	if err != nil {
		return err
	}
	if err := s.Release(ctx, lease); err != nil {
		return err
	}
	return s.DeleteAgent(ctx, row.ID)
}
