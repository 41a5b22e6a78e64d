package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// startMark begins the line that precedes each start in a log.
const startMark = "[STARTED by the hub, "

const (
	maxLog  = 16 << 20
	tailLog = 8 << 10
)

// OpenLog opens a log for appending. A log that has grown too long is set aside first,
// replacing the one set aside before.
func OpenLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// BoundedLog is a log that stays short while one process writes to it for long: beyond 16
// MiB it is set aside, as by [OpenLog]. It is not safe for concurrent use.
type BoundedLog struct {
	path    string
	file    *os.File
	written int // since the length was last looked at
}

// OpenBoundedLog opens a log as [OpenLog] does.
func OpenBoundedLog(path string) (*BoundedLog, error) {
	f, err := OpenLog(path)
	return &BoundedLog{path: path, file: f}, err
}

// Write implements [io.Writer].
func (l *BoundedLog) Write(p []byte) (int, error) {
	if l.written += len(p); l.written > maxLog/16 {
		l.written = 0
		// Another process may have set the file aside already.
		if info, err := l.file.Stat(); err == nil && info.Size() > maxLog {
			if f, err := OpenLog(l.path); err == nil {
				_ = l.file.Close()
				l.file = f
			}
		}
	}
	return l.file.Write(p)
}

// Close implements [io.Closer].
func (l *BoundedLog) Close() error { return l.file.Close() }

// MarkStart writes into a log that a process starts now.
func MarkStart(log io.Writer, now time.Time) {
	fmt.Fprintf(log, "%s%s]\n", startMark, now.Format(time.DateTime))
}

// LastLines returns up to n of the last lines of a log since its last start, joined to
// one line. It is empty if the log cannot be read.
func LastLines(path string, n int) string {
	lines := Tail(path, n+1)
	for i, l := range slices.Backward(lines) {
		if strings.HasPrefix(l, startMark) {
			return strings.Join(lines[i+1:], " / ")
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}

// Tail returns up to n of the last lines of a file, and none if it cannot be read.
func Tail(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-tailLog), io.SeekStart)
	}
	data, err := io.ReadAll(f)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	lines := strings.Split(string(bytes.TrimSpace(data)), "\n")
	return lines[max(0, len(lines)-n):]
}
