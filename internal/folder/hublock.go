package folder

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/clock"
	"fika/internal/process"
)

// HubLock is the right to be the hub of a home. The lock decides; its content
// says who holds it. It is held until Close, and by the end of the process.
type HubLock struct {
	file *os.File
	info os.FileInfo
	home string
}

func (h Home) hubLockFile() string { return h.path("run", "hub.lock") }

// LockHub takes run/hub.lock. Error kind Locked when a hub runs.
func (h Home) LockHub() (*HubLock, error) {
	if err := h.EnsureDir(h.RunDir()); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(h.hubLockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "hub lock", err)
	}
	l := &HubLock{file: file, home: h.Root}
	switch err := l.lockFile(); {
	case errors.Is(err, process.ErrHeld):
		_ = file.Close()
		who, _ := h.HubProcess()
		return nil, fika.Errorf(fika.Locked, "up", "a hub is running already (pid %d); fika status shows it", who.PID)
	case err != nil:
		_ = file.Close()
		return nil, fika.Wrap(fika.Storage, "hub lock", err)
	}
	return l, nil
}

// lockFile locks the file and writes who has it. Somebody who only looks holds the
// lock for an instant, so it looks again for a while.
func (l *HubLock) lockFile() error {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err := process.LockFile(l.file)
	for errors.Is(err, process.ErrHeld) && clock.Sleep(ctx, 5*time.Millisecond) == nil {
		err = process.LockFile(l.file)
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(process.Self())
	if err == nil {
		_, err = l.file.WriteAt(data, 0)
	}
	if err == nil {
		err = l.file.Truncate(int64(len(data)))
	}
	if err == nil {
		l.info, err = l.file.Stat()
	}
	return err
}

// Holds says whether the lock still is where others look for it. It is not
// when the home was deleted under its hub, or replaced.
func (l *HubLock) Holds() error {
	now, err := os.Stat(l.file.Name())
	switch {
	case os.IsNotExist(err):
		return fika.Errorf(fika.Storage, "hub", "the home %s was deleted while its hub ran; there is nothing left to look after", l.home)
	case err == nil && !os.SameFile(now, l.info):
		return fika.Errorf(fika.Storage, "hub", "the home %s was replaced while its hub ran; the new one needs a hub of its own (fika up)", l.home)
	}
	return nil
}

// Close gives the lock up.
func (l *HubLock) Close() error { return l.file.Close() }

// HubKilled reports whether the last hub of this home ended without taking leave:
// none runs, and the address of its bus is still there.
func (h Home) HubKilled() bool {
	if _, up := h.HubProcess(); up {
		return false
	}
	_, err := os.Stat(filepath.Join(h.RunDir(), "hub.json"))
	return err == nil
}

// HubProcess returns the process that is the hub of this home, and whether one
// runs.
func (h Home) HubProcess() (fika.Process, bool) {
	file, err := os.Open(h.hubLockFile())
	if err != nil {
		return fika.Process{}, false
	}
	defer file.Close()
	if err := process.LockFileShared(file); !errors.Is(err, process.ErrHeld) {
		return fika.Process{}, false // closing it gives it back
	}
	var id fika.Process
	data, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil || json.Unmarshal(data, &id) != nil {
		return fika.Process{}, false
	}
	return id, id.PID != 0
}

// HubSince returns when the hub that runs took its lock; zero when that cannot
// be told.
func (h Home) HubSince() time.Time {
	info, err := os.Stat(h.hubLockFile())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
