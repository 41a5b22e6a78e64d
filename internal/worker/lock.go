package worker

import (
	"context"
	"errors"
	"time"

	"fika/internal/app"
	"fika/internal/folder"
)

// LockFolder locks a context's folder alone, for what needs no database. It
// waits for whoever has it as long as wait says.
func LockFolder(ctx context.Context, a *app.App, f folder.Folder, wait time.Duration) (*folder.Lock, error) {
	settings, err := a.PlainSettings(f.Name)
	if err != nil {
		return nil, err
	}
	o := folder.LockOptions{Kind: folder.LockCommand, Heartbeat: settings.LockHeartbeat}
	return acquireLock(ctx, f, o, wait)
}

// acquireLock takes a folder's lock, waiting for it as long as wait says. Whoever
// only brings its files up to date is waited for in any case: that is over in
// a moment.
func acquireLock(ctx context.Context, f folder.Folder, o folder.LockOptions, wait time.Duration) (*folder.Lock, error) {
	if wait <= 0 {
		l, err := folder.TryLock(ctx, f, o)
		var held *folder.HeldError
		if !errors.As(err, &held) || held.Info.Kind != folder.LockMirror {
			return l, err
		}
		wait = mirrorPatience
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return folder.WaitLock(waiting, f, o)
}

// mirrorPatience is how long the writing of a context's files is waited for.
const mirrorPatience = 5 * time.Second
