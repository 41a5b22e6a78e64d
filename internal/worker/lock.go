package worker

import (
	"context"
	"errors"
	"time"

	"fika/internal/app"
	"fika/internal/settings/folder"
)

// LockFolder locks a context's folder alone, for operations that need no database. It
// waits up to wait for another holder.
func LockFolder(ctx context.Context, a *app.App, f folder.Folder, wait time.Duration) (*folder.Lock, error) {
	settings, err := a.PlainSettings(f.Name)
	if err != nil {
		return nil, err
	}
	o := folder.LockOptions{Kind: folder.LockCommand, Heartbeat: settings.LockHeartbeat}
	return acquireLock(ctx, f, o, wait)
}

// acquireLock takes a folder's lock, and waits up to wait for another holder. It always
// waits for a process that only brings the files up to date, because that takes a
// moment.
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

// mirrorPatience is how long to wait for the writing of a context's files.
const mirrorPatience = 5 * time.Second
