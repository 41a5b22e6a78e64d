package monitor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fika"
	"fika/internal/system/process"
)

// rotatedLog is a file to which lines are appended. Before it becomes larger than most
// bytes it is renamed to FILE.1, FILE.1 to FILE.2, and so on; the oldest file is
// overwritten. A line is never split, even one longer than most. An existing file is
// appended to. If somebody else moves or removes the file (logrotate, say), a new one
// is begun. It is not safe for concurrent use, and no two processes can open one file.
type rotatedLog struct {
	path string
	most int64
	keep int // number of older files that are kept
	file *os.File
	info os.FileInfo // of file, as it was opened
	size int64
}

// openRotatedLog opens the file, and creates it if it is missing. Error kinds: Invalid
// if path is not a regular file or its folder does not exist, Locked if another process
// has it open, Storage.
func openRotatedLog(path string, most int64, keep int) (*rotatedLog, error) {
	const op = "open log"
	l := &rotatedLog{path: path, most: most, keep: keep}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fika.Errorf(fika.Invalid, op, "%s is not a file that can be rotated", path)
	} else if st, err := os.Stat(filepath.Dir(path)); err != nil || !st.IsDir() {
		return nil, fika.Errorf(fika.Invalid, op, "folder %s not found", filepath.Dir(path))
	}
	switch err := l.open(); {
	case fika.IsKind(err, fika.Locked):
		return nil, err
	case err != nil:
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	return l, nil
}

func (l *rotatedLog) open() error {
	// The messages hold what agents and people say: only the owner may read the file.
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil {
		err = process.LockFile(f)
	}
	if errors.Is(err, process.ErrHeld) {
		err = fika.Errorf(fika.Locked, "", "another process writes %s; two would rename it under each other: choose another file", l.path)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.info, l.size = f, st, st.Size()
	return l.endLine()
}

// endLine ends a line that a process had written only in part when it was killed.
func (l *rotatedLog) endLine() error {
	if l.size == 0 {
		return nil
	}
	f, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, l.size-1); err != nil || last[0] == '\n' {
		return err
	}
	return l.write([]byte("\n"))
}

// Line appends data, which must not contain a line break, as one line. Error kind:
// Storage.
func (l *rotatedLog) Line(data []byte) error {
	const op = "write log"
	data = append(data, '\n')
	if !l.isInPlace() {
		if err := l.reopen(); err != nil {
			return fika.Wrap(fika.Storage, op, err)
		}
	}
	if l.size > 0 && l.size+int64(len(data)) > l.most {
		if err := l.rotate(); err != nil {
			return fika.Wrap(fika.Storage, op, err)
		}
	}
	return fika.Wrap(fika.Storage, op, l.write(data))
}

// isInPlace reports whether the path still leads to the open file, as far as can be
// told.
func (l *rotatedLog) isInPlace() bool {
	st, err := os.Stat(l.path)
	return err == nil && os.SameFile(st, l.info) || err != nil && !errors.Is(err, fs.ErrNotExist)
}

func (l *rotatedLog) write(data []byte) error {
	n, err := l.file.Write(data)
	if err != nil && n > 0 { // the disk may be full: half a line is of no use
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(n)
	return err
}

// reopen closes the open file and opens the one at the path.
func (l *rotatedLog) reopen() error {
	err := l.file.Close()
	l.file = nil
	return errors.Join(err, l.open())
}

func (l *rotatedLog) rotate() error {
	older := func(i int) string { return fmt.Sprintf("%s.%d", l.path, i) }
	for i := l.keep - 1; i > 0; i-- {
		if err := os.Rename(older(i), older(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(l.path, older(1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return l.reopen()
}

// Close closes the file.
func (l *rotatedLog) Close() error {
	if l.file == nil { // it could not be reopened
		return nil
	}
	return fika.Wrap(fika.Storage, "close log", l.file.Close())
}
