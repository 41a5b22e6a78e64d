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
	"fika/internal/system/process"
	"fika/internal/system/sleep"
)

// lockProcess takes a lock file of run/ for this process, and writes the process's
// identity into it. The lock is held until the file is closed or the process ends. The
// error is [process.ErrHeld] if another process holds it. A process that only inspects
// the lock holds it for an instant, so lockProcess retries for a while.
func (h Home) lockProcess(path string) (*os.File, error) {
	if err := h.EnsureDir(h.RunDir()); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err = process.LockFile(file)
	for errors.Is(err, process.ErrHeld) && sleep.For(ctx, 5*time.Millisecond) == nil {
		err = process.LockFile(file)
	}
	if err == nil {
		err = writeSelf(file)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func writeSelf(file *os.File) error {
	data, err := json.Marshal(process.IdentifySelf())
	if err == nil {
		_, err = file.WriteAt(data, 0)
	}
	if err == nil {
		err = file.Truncate(int64(len(data)))
	}
	return err
}

// lockedBy returns the process that holds a lock file of run/, if one does.
func lockedBy(path string) (fika.Process, bool) {
	file, err := os.Open(path)
	if err != nil {
		return fika.Process{}, false
	}
	defer file.Close()
	if err := process.LockFileShared(file); !errors.Is(err, process.ErrHeld) {
		return fika.Process{}, false // closing the file releases the lock
	}
	var id fika.Process
	data, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil || json.Unmarshal(data, &id) != nil {
		return fika.Process{}, false
	}
	return id, id.PID != 0
}

// executorLockFile returns the path of an executor's lock file; in patterns the name is
// a star.
func (h Home) executorLockFile(name string) string {
	return h.path("run", "executor-"+name+".lock")
}

// ExecutorDir returns the folder for an executor's working files.
func (h Home) ExecutorDir(name string) string { return h.path("run", "executor-"+name) }

// LockExecutor makes this process an executor of this home, until the returned Closer
// is closed. It returns Locked if another process is that executor.
func (h Home) LockExecutor(name string) (io.Closer, error) {
	const op = "executor"
	file, err := h.lockProcess(h.executorLockFile(name))
	if errors.Is(err, process.ErrHeld) {
		who, _ := h.ExecutorProcess(name)
		return nil, fika.Errorf(fika.Locked, op, "the executor %s runs already (pid %d): let it be, or end it with kill", name, who.PID)
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	return file, nil
}

// ExecutorProcess returns the process that is an executor of this home, and whether one
// is.
func (h Home) ExecutorProcess(name string) (fika.Process, bool) {
	return lockedBy(h.executorLockFile(name))
}

// ExecutorProcesses returns all running executors of this home, including those that no
// settings name any more.
func (h Home) ExecutorProcesses() (all []fika.Process) {
	files, _ := filepath.Glob(h.executorLockFile("*"))
	for _, f := range files {
		if p, runs := lockedBy(f); runs {
			all = append(all, p)
		}
	}
	return all
}
