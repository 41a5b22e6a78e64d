package folder

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/system/process"
	"fika/internal/text/hint"
)

// HubLock is the right to be the hub of a home. The lock decides; its content only
// names the holder. It is held until Close or the end of the process.
type HubLock struct {
	file *os.File
	info os.FileInfo
	home string
}

func (h Home) hubLockFile() string { return h.path("run", "hub.lock") }

// LockHub takes run/hub.lock. It returns Locked if a hub runs.
func (h Home) LockHub() (*HubLock, error) {
	file, err := h.lockProcess(h.hubLockFile())
	if errors.Is(err, process.ErrHeld) {
		who, _ := h.HubProcess()
		return nil, fika.WithHint(fika.Errorf(fika.Locked, "up", "a hub is already running (pid %d); stop it first", who.PID), hint.Down.With())
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "hub lock", err)
	}
	l := &HubLock{file: file, home: h.Root}
	if l.info, err = file.Stat(); err != nil {
		_ = file.Close()
		return nil, fika.Wrap(fika.Storage, "hub lock", err)
	}
	return l, nil
}

// CheckHeld returns an error if the lock is no longer where others look for it, because
// the home was deleted under its hub, or replaced.
func (l *HubLock) CheckHeld() error {
	now, err := os.Stat(l.file.Name())
	switch {
	case os.IsNotExist(err):
		return fika.Errorf(fika.Storage, "hub", "the home %s was deleted while its hub ran; there is nothing left to look after", l.home)
	case err == nil && !os.SameFile(now, l.info):
		return fika.WithHint(fika.Errorf(fika.Storage, "hub", "the home %s was replaced while its hub ran; the new one needs a hub of its own", l.home), hint.Up.With())
	}
	return nil
}

// Close releases the lock.
func (l *HubLock) Close() error { return l.file.Close() }

// HubKilled reports whether the last hub of this home ended without shutting down: none
// runs, and the address of its bus is still there.
func (h Home) HubKilled() bool {
	if _, up := h.HubProcess(); up {
		return false
	}
	_, err := os.Stat(filepath.Join(h.RunDir(), "hub.json"))
	return err == nil
}

// HubProcess returns the process that is the hub of this home, and whether one runs.
func (h Home) HubProcess() (fika.Process, bool) {
	return lockedBy(h.hubLockFile())
}

// HubSince returns when the running hub took its lock; zero if that is unknown.
func (h Home) HubSince() time.Time {
	info, err := os.Stat(h.hubLockFile())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
