package contexts

import (
	"context"
	"errors"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/worker"
)

// Rename renames a context, its folder first and then its row in the database. If it
// is interrupted between the two, the same call finishes the job.
func Rename(ctx context.Context, a *app.App, from, to fika.AgentName, wait time.Duration, p app.Person) (err error) {
	h, err := a.Home()
	if err != nil {
		return err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	taken, err := app.FindRow(ctx, s, to)
	if err != nil {
		return err
	}
	if taken != nil {
		return fika.Errorf(fika.Conflict, "", "an agent named %q exists already", to)
	}
	if _, err := folder.OpenFolder(h, from); fika.IsKind(err, fika.NotFound) {
		return finishRename(ctx, a, s, from, to, err)
	}
	if tree, err := a.Worktree(from); err == nil && tree.IsMade() {
		return fika.Errorf(fika.Conflict, "rename", "@%s has a git worktree, which goes by its name: %s, then %s", from, hint.AgentMerge.With(from), hint.AgentDiscard.With(from))
	}
	w, err := worker.OpenCommand(ctx, a, from, true, wait, p.Warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.Rename(to); err != nil {
		return err
	}
	if err := s.RenameAgent(ctx, w.Agent.ID, to); err != nil {
		return errors.Join(err, w.Rename(from))
	}
	if w.Settings.Entry {
		p.Warn("config.toml has an [[agents]] entry with the id " + string(from) + ": change it too, or the hub creates that agent again")
	}
	return nil
}

// finishRename completes a renaming that was interrupted after the folder got its new
// name.
func finishRename(ctx context.Context, a *app.App, s *store.Store, from, to fika.AgentName, missing error) error {
	row, err := app.FindRow(ctx, s, from)
	if err != nil {
		return err
	}
	h, err := a.Home()
	if err != nil {
		return err
	}
	f, openErr := folder.OpenFolder(h, to)
	if row == nil || openErr != nil {
		return missing
	}
	lock, err := worker.LockFolder(ctx, a, f, 0)
	if err != nil {
		return err
	}
	return errors.Join(s.RenameAgent(ctx, row.ID, to), lock.Close())
}
