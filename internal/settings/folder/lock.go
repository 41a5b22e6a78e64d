package folder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"fika"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// LockKind says what kind of process holds a context.
type LockKind string

// The kinds of holder.
const (
	LockRun     LockKind = "run"     // a one-shot prompt
	LockAgent   LockKind = "agent"   // the agent's own process
	LockCommand LockKind = "command" // a command that changes the folder
	LockMirror  LockKind = "mirror"  // a process that briefly brings the files up to date
)

// DefaultHeartbeat is how often a lock is touched unless the configuration says
// otherwise.
const DefaultHeartbeat = 30 * time.Second

// lockGrace bounds how long an attempt is repeated while the holder may only be another
// process that inspects a stale lock.
const lockGrace = 20 * time.Millisecond

// LockInfo is the content of a lock file. It only informs; the flock decides.
type LockInfo struct {
	PID       int        `json:"pid"`
	Host      string     `json:"host,omitempty"`
	Start     int64      `json:"start,omitempty"` // as fika.Process.Start
	BootID    string     `json:"boot_id,omitempty"`
	Kind      LockKind   `json:"kind,omitempty"`
	Since     time.Time  `json:"since"`
	Epoch     fika.Epoch `json:"epoch,omitempty"` // of the lease, once taken
	Heartbeat float64    `json:"heartbeat_seconds,omitempty"`
}

// HeldError is the cause of a Locked error: who holds the context, how long ago the
// holder gave a sign of life, and whether that is too long.
type HeldError struct {
	Name  fika.AgentName
	Info  LockInfo
	Age   time.Duration
	Stale bool
}

// Error describes the holder for a person.
func (e *HeldError) Error() string {
	who := "another process"
	if e.Info.PID > 0 {
		who = fmt.Sprintf("process %d", e.Info.PID)
		if e.Info.Kind != "" {
			who += " (" + string(e.Info.Kind) + ")"
		}
		if host, _ := os.Hostname(); e.Info.Host != "" && e.Info.Host != host {
			who += " on " + e.Info.Host
		}
		if !e.Info.Since.IsZero() {
			who += ", since " + e.Info.Since.Local().Format("2006-01-02 15:04:05")
		}
	}
	if e.Stale {
		return fmt.Sprintf("context %q is held by %s, silent for %s: %s ends it", e.Name, who, e.Age.Round(time.Second), hint.ContextUnlock.With(e.Name))
	}
	return fmt.Sprintf("context %q is in use by %s", e.Name, who)
}

// LockOptions says how to hold a lock.
type LockOptions struct {
	Kind      LockKind
	Heartbeat time.Duration // 0: DefaultHeartbeat
	// Beat, if not nil, is called after each touch by the lock's goroutine; ctx ends
	// with the next beat or with Close. The owner renews its lease in it.
	Beat func(ctx context.Context)
}

// Lock is the right to write in one context folder, until Close. It is safe for
// concurrent use.
type Lock struct {
	mu     sync.Mutex
	folder Folder
	file   *os.File // nil once closed
	info   LockInfo

	lost     chan struct{} // closed when the file was taken away
	lostOnce sync.Once
	stop     context.CancelFunc
	done     chan struct{} // closed when the heartbeat has ended
}

// TryLock takes the folder's lock or returns at once with its holder. Error kinds:
// Locked (cause *HeldError), NotFound (no such context), Storage.
func TryLock(ctx context.Context, f Folder, o LockOptions) (*Lock, error) {
	deadline := time.Now().Add(lockGrace)
	for {
		file, err := openLocked(f)
		if err == nil {
			return startLock(f, file, o)
		}
		var held *HeldError
		if !errors.As(err, &held) || !held.isIdle() || time.Now().After(deadline) {
			return nil, err
		}
		if err := sleep.For(ctx, time.Millisecond); err != nil {
			return nil, fika.Wrap(fika.Interrupted, "take lock", err)
		}
	}
}

// WaitLock takes the lock, waiting for it until ctx ends; then it returns the Locked
// error with the holder.
func WaitLock(ctx context.Context, f Folder, o LockOptions) (*Lock, error) {
	const longest = 250 * time.Millisecond
	for step := 5 * time.Millisecond; ; step = min(2*step, longest) {
		l, err := TryLock(ctx, f, o)
		if !fika.IsKind(err, fika.Locked) {
			return l, err
		}
		if sleep.For(ctx, step) != nil {
			return nil, err
		}
	}
}

// isIdle reports whether the named holder no longer runs, so that the flock is most
// likely held for a moment by a process that takes or inspects it.
func (e *HeldError) isIdle() bool { return e.Info.PID == 0 || !e.Info.holderAlive() }

func (f Folder) lockPath() string { return f.path("lock") }

// openLocked opens and flocks the lock file, and makes sure that it is still the one at
// this path: the folder may have been renamed or removed in between.
func openLocked(f Folder) (*os.File, error) {
	const op = "take lock"
	for range 10 {
		file, err := os.OpenFile(f.lockPath(), os.O_RDWR|os.O_CREATE, fileMode)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fika.Errorf(fika.NotFound, op, "context %q not found", f.Name)
		}
		if err != nil {
			return nil, fileError(op, f.lockPath(), err)
		}
		switch err := flockExclusive(file); {
		case errors.Is(err, process.ErrHeld):
			held := heldBy(f, file)
			_ = file.Close()
			return nil, &fika.Error{Kind: fika.Locked, Err: held}
		case err != nil:
			_ = file.Close()
			return nil, fileError(op, f.lockPath(), err)
		case samePath(file, f.lockPath()):
			return file, nil
		}
		_ = file.Close()
	}
	return nil, fika.Errorf(fika.Failed, op, "%s changes all the time", f.lockPath())
}

func samePath(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

func startLock(f Folder, file *os.File, o LockOptions) (*Lock, error) {
	every := o.Heartbeat
	if every <= 0 {
		every = DefaultHeartbeat
	}
	host, _ := os.Hostname()
	self := process.IdentifySelf()
	l := &Lock{
		folder: f, file: file,
		info: LockInfo{
			PID: self.PID, Host: host, Start: self.Start, BootID: self.BootID,
			Kind: o.Kind, Since: time.Now().UTC().Truncate(time.Millisecond), Heartbeat: every.Seconds(),
		},
		lost: make(chan struct{}), done: make(chan struct{}),
	}
	if err := l.touchFile(); err != nil {
		_ = file.Close()
		return nil, err
	}
	// Unfinished texts of killed processes.
	removeOld(f.Path(), ".*.md[0-9]*", time.Now())
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	go l.beatUntilClosed(ctx, every, o.Beat)
	return l, nil
}

// beatUntilClosed touches the lock until Close. A beat that hangs delays the next one
// by at most one interval, because its ctx ends.
func (l *Lock) beatUntilClosed(ctx context.Context, every time.Duration, beat func(context.Context)) {
	defer close(l.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		if l.checkHeld() == nil {
			_ = l.touchFile() // a full disk must not end the owner; the age shows it
		}
		l.mu.Unlock()
		if beat != nil {
			bctx, cancel := context.WithTimeout(ctx, every)
			beat(bctx)
			cancel()
		}
	}
}

// touchFile writes the content in place, which also sets the file's time.
func (l *Lock) touchFile() error {
	data, err := json.Marshal(l.info)
	if err != nil {
		return fika.Wrap(fika.Failed, "write lock", err)
	}
	data = append(data, '\n')
	if _, err = l.file.WriteAt(data, 0); err == nil {
		err = l.file.Truncate(int64(len(data)))
	}
	return fileError("write lock", l.folder.lockPath(), err)
}

// checkHeld returns Lost if the lock is closed or its file is no longer the one in the
// folder, because somebody deleted it by hand.
func (l *Lock) checkHeld() error {
	if l.file == nil {
		return fika.Errorf(fika.Lost, "lock", "the lock of context %q was given back", l.folder.Name)
	}
	if !samePath(l.file, l.folder.lockPath()) {
		l.lostOnce.Do(func() { close(l.lost) })
		return fika.Errorf(fika.Lost, "lock", "%s was deleted or replaced: stop and start again", l.folder.lockPath())
	}
	return nil
}

// Check returns Lost if the lock no longer holds: then nothing more may be written.
func (l *Lock) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checkHeld()
}

// Lost returns a channel that is closed when a heartbeat or Check finds that the lock
// file was taken away.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// Folder returns the locked folder.
func (l *Lock) Folder() Folder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.folder
}

// Info returns the content of the lock file.
func (l *Lock) Info() LockInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.info
}

// SetEpoch records the lease's epoch in the lock file.
func (l *Lock) SetEpoch(e fika.Epoch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkHeld(); err != nil {
		return err
	}
	l.info.Epoch = e
	return l.touchFile()
}

// Close ends the heartbeat, empties the lock file and releases the lock. It waits for a
// running beat. Calling it again does nothing; it must not be called from Beat.
func (l *Lock) Close() error {
	l.stop()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Truncate(0), process.UnlockFile(l.file), l.file.Close())
	l.file = nil
	return fileError("give lock back", l.folder.lockPath(), err)
}

// readLockInfo parses the content of a lock file: the first JSON value, whatever
// follows. Anything else is unknown (PID 0).
func readLockInfo(r io.Reader) (info LockInfo, content bool) {
	data, err := io.ReadAll(io.LimitReader(r, 4096))
	data = bytes.Trim(data, "\x00 \r\n\t")
	if err != nil || len(data) == 0 {
		return LockInfo{}, false
	}
	if json.NewDecoder(bytes.NewReader(data)).Decode(&info) != nil || info.PID <= 0 {
		return LockInfo{}, true
	}
	return info, true
}

// heldBy returns who holds the flock that we did not get.
func heldBy(f Folder, file *os.File) *HeldError {
	e := &HeldError{Name: f.Name}
	e.Info, _ = readLockInfo(io.NewSectionReader(file, 0, 4096))
	if st, err := file.Stat(); err == nil {
		e.Age = max(0, time.Since(st.ModTime()))
	}
	e.Stale = e.Age > e.Info.silenceAllowed()
	return e
}

// silenceAllowed returns how long a holder may be silent.
func (i LockInfo) silenceAllowed() time.Duration {
	every := time.Duration(i.Heartbeat * float64(time.Second))
	if every <= 0 || every > 24*time.Hour {
		every = DefaultHeartbeat
	}
	return every * 3 / 2
}

// holderAlive reports whether the process that wrote the lock runs on this machine. A
// process of another machine counts as alive: only its silence counts against it.
func (i LockInfo) holderAlive() bool {
	if host, _ := os.Hostname(); i.Host != "" && i.Host != host {
		return true
	}
	return process.Alive(i.Process())
}

// Process identifies the process that wrote the lock.
func (i LockInfo) Process() fika.Process {
	return fika.Process{PID: i.PID, Start: i.Start, BootID: i.BootID}
}
