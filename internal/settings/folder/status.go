package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"fika"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
)

// LockStatus is the status of a lock in the context list.
type LockStatus string

// The statuses. Active: held, and alive within 1.5 heartbeats. Stale: content but no
// holder, or a holder that has been silent for longer.
const (
	LockFree   LockStatus = "free"
	LockActive LockStatus = "active"
	LockStale  LockStatus = "stale"
)

// LockState is the result of [Folder.Inspect].
type LockState struct {
	Status LockStatus
	Held   bool // some process holds the flock
	Info   LockInfo
	Age    time.Duration // since the last heartbeat; 0 when free
}

// Inspect reads a lock without taking it, and never disturbs a holder. A context
// without a lock file is free.
func (f Folder) Inspect() (LockState, error) {
	free := LockState{Status: LockFree}
	file, err := os.Open(f.lockPath())
	if errors.Is(err, fs.ErrNotExist) {
		return free, nil
	}
	if err != nil {
		return free, fileError("read lock", f.lockPath(), err)
	}
	defer file.Close()
	info, content := readLockInfo(file)
	if !content {
		return free, nil
	}
	st := LockState{Status: LockStale, Info: info}
	if fi, err := file.Stat(); err == nil {
		st.Age = max(0, time.Since(fi.ModTime()))
	}
	switch err := process.LockFileShared(file); {
	case err == nil:
		_ = process.UnlockFile(file)
	case errors.Is(err, process.ErrHeld):
		st.Held = true
		if st.Age <= info.silenceAllowed() {
			st.Status = LockActive
		}
	default:
		return st, fileError("read lock", f.lockPath(), err)
	}
	return st, nil
}

// UnlockOptions says how hard to try.
type UnlockOptions struct {
	Force bool          // also end a holder that is not silent
	Grace time.Duration // between SIGTERM and SIGKILL; 0: 10 s
}

// Unlock ends a silent holder of the context: SIGTERM, then SIGKILL, but only a process
// that, by pid, start time and boot id, is the one that wrote the lock. It reports
// whether a process was ended; a lock without a holder needs nothing. Error kinds:
// Locked (not silent, and no force), Denied (the holder cannot be identified, or is on
// another machine), Failed (it does not end).
func (f Folder) Unlock(ctx context.Context, o UnlockOptions) (bool, error) {
	const op = "unlock"
	st, err := f.Inspect()
	if err != nil || !st.Held {
		return false, err
	}
	if st.Status == LockActive && !o.Force {
		return false, &fika.Error{Kind: fika.Locked, Op: op, Err: &HeldError{Name: f.Name, Info: st.Info, Age: st.Age}}
	}
	if host, _ := os.Hostname(); st.Info.Host != "" && st.Info.Host != host {
		return false, fika.Errorf(fika.Denied, op, "context %q is held by process %d on %s: end it there", f.Name, st.Info.PID, st.Info.Host)
	}
	if st.Info.PID == os.Getpid() {
		return false, fika.Errorf(fika.Denied, op, "context %q is held by this process itself", f.Name)
	}
	holder := st.Info.Process()
	if holder.PID <= 1 || holder.Start == 0 || !process.Alive(holder) {
		return false, fika.Errorf(fika.Denied, op, "context %q is held by a process that is not the one its lock names (pid %d): find it with lsof %s", f.Name, st.Info.PID, f.lockPath())
	}
	grace := o.Grace
	if grace <= 0 {
		grace = 10 * time.Second
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := process.Signal(holder, sig); err != nil {
			return false, fika.Wrap(fika.Denied, op, err)
		}
		gone, err := f.awaitFree(ctx, st.Info, grace)
		if gone || err != nil {
			return gone, err
		}
	}
	return false, fika.Errorf(fika.Failed, op, "process %d does not end", st.Info.PID)
}

// awaitFree waits until who no longer holds the lock.
func (f Folder) awaitFree(ctx context.Context, who LockInfo, limit time.Duration) (bool, error) {
	deadline := time.Now().Add(limit)
	for {
		st, err := f.Inspect()
		if err != nil {
			return false, err
		}
		if !st.Held || st.Info.Process() != who.Process() {
			return true, nil
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		if err := sleep.For(ctx, 20*time.Millisecond); err != nil {
			return false, fika.Wrap(fika.Interrupted, "unlock", err)
		}
	}
}
