package app

import (
	"context"

	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/store/archive"
	"fika/internal/text/hint"
)

// OldRows returns the archives of the home, and how long the settings keep rows.
func (a *App) OldRows(s *store.Store) (*archive.Archive, archive.Keep, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return nil, nil, err
	}
	keep := archive.Keep{store.KeptChats: c.Keep.Chats, store.KeptContexts: c.Keep.Contexts, store.KeptRequests: c.Keep.Requests, store.KeptUsage: c.Keep.Usage}
	return archive.In(h.Root, s, a.Now), keep, nil
}

// OldRowsWarning says that rows are much older than the settings keep them; empty: none
// are.
func (a *App) OldRowsWarning(ctx context.Context, s *store.Store) (string, error) {
	old, keep, err := a.OldRows(s)
	if err != nil || !keep.Any() {
		return "", err
	}
	due, err := old.IsDue(ctx, keep)
	if err != nil || !due {
		return "", err
	}
	return "the database has rows that are older than [keep] says: a running hub archives them when nothing else is at work, " + hint.StoreShrink.With() + " does at once", nil
}

// leastRoom is how much of the disk, in bytes, must be free for what is finished to be
// stored.
const leastRoom = 8 << 20

// DiskWarning says that the disk of the home is full; empty: it is not.
func (o *OpenedHome) DiskWarning() string {
	h, err := o.Home()
	if err != nil {
		return ""
	}
	return folder.FullDisk(h.Root, leastRoom)
}
