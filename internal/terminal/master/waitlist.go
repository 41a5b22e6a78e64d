package master

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/system/process"
	"fika/internal/text/hint"
)

// WaitList keeps the ids of a console's pending requests in a file, so that the next
// console shows their outcomes. Only one console of a home keeps it; the others keep
// nothing.
type WaitList struct {
	path string
	lock *os.File // nil: it could not be opened
	mine bool     // this console owns the file
	mu   sync.Mutex
}

// OpenWaitList opens the list in the run folder of a home, and takes ownership if no
// other console has it. The caller must close it.
func OpenWaitList(runDir string) *WaitList {
	l := &WaitList{path: filepath.Join(runDir, "master.json")}
	lock, err := os.OpenFile(filepath.Join(runDir, "master.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		l.lock, l.mine = lock, process.LockFile(lock) == nil
	}
	return l
}

// KeptHere reports whether this console keeps the list.
func (l *WaitList) KeptHere() bool { return l.mine }

// Load reads the ids; a file that cannot be parsed is set aside. Error kinds: Storage,
// Invalid.
func (l *WaitList) Load() ([]fika.RequestID, error) {
	if !l.mine {
		return nil, nil
	}
	data, err := os.ReadFile(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "console", err)
	}
	var ids []fika.RequestID
	if err := json.Unmarshal(data, &ids); err != nil {
		_ = os.Rename(l.path, l.path+".bad")
		return nil, fika.Errorf(fika.Invalid, "console", "%s is not readable and was set aside as master.json.bad; %s shows what is at work", l.path, hint.RequestList)
	}
	return ids, nil
}

// Save replaces the ids. Error kind: Storage.
func (l *WaitList) Save(ids []fika.RequestID) error {
	if !l.mine {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	data, err := json.Marshal(ids)
	if err == nil {
		err = renameio.WriteFile(l.path, append(data, '\n'), 0o600)
	}
	return fika.Wrap(fika.Storage, "console", err)
}

// Close lets another console take the file.
func (l *WaitList) Close() error {
	if l.lock == nil {
		return nil
	}
	return l.lock.Close()
}
