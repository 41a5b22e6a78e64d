package app

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"fika"
	"fika/internal/folder"
	"fika/internal/process"
)

// HubLock is the right to be the hub of a home. The lock decides; its content
// says who holds it.
type HubLock struct {
	file *flock.Flock
	info os.FileInfo
	home string
}

func hubLockPath(h folder.Home) string { return filepath.Join(h.RunDir(), "hub.lock") }

// TakeHubLock takes run/hub.lock. Locked when a hub runs.
func TakeHubLock(h folder.Home) (*HubLock, error) {
	if err := h.EnsureDir(h.RunDir()); err != nil {
		return nil, err
	}
	path := hubLockPath(h)
	l := flock.New(path, flock.SetPermissions(0o600))
	// Somebody who only looks holds the lock for an instant: look again.
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	ok, err := l.TryLockContext(ctx, 5*time.Millisecond)
	if err != nil && ctx.Err() == nil {
		return nil, fika.Wrap(fika.Storage, "hub lock", err)
	}
	if !ok {
		who, _ := HubProcess(h)
		return nil, fika.Errorf(fika.Locked, "up", "a hub is running already (pid %d); fika status shows it", who.PID)
	}
	id, _ := process.Identify(os.Getpid())
	data, err := json.Marshal(id)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	if err != nil {
		_ = l.Close()
		return nil, fika.Wrap(fika.Storage, "hub lock", err)
	}
	return &HubLock{file: l, info: info, home: h.Root}, nil
}

// Holds says whether the lock still is where others look for it. It is not
// when the home was deleted under its hub, or replaced.
func (l *HubLock) Holds() error {
	now, err := os.Stat(l.file.Path())
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

// HubProcess tells which process is the hub of a home, if one runs.
func HubProcess(h folder.Home) (fika.Process, bool) {
	path := hubLockPath(h)
	if _, err := os.Stat(path); err != nil {
		return fika.Process{}, false
	}
	probe := flock.New(path)
	if ok, err := probe.TryRLock(); err != nil || ok {
		_ = probe.Close()
		return fika.Process{}, false
	}
	var id fika.Process
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &id) != nil || !process.Alive(id) {
		return id, id.PID != 0
	}
	return id, true
}
