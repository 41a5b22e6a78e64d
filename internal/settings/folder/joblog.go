package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fika"
)

// jobPart is the size of each part of a job's log, of which the last two are kept.
const jobPart = 4 << 20

// JobsDir returns the folder with the output of background commands.
func (f Folder) JobsDir() string { return filepath.Join(f.Path(), "jobs") }

// JobLog keeps the last of the output of a background command: at least 4 and at most
// 8 MiB, in files PATH.N.log of which each but the last is full. Bytes are counted from the
// beginning of the output. It is safe for concurrent use.
type JobLog struct {
	path string

	mu    sync.Mutex
	total int64
	file  *os.File
}

// NewJobLog returns a log that is empty. The caller must close it.
func NewJobLog(path string) (*JobLog, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fileError("log of a job", path, err)
	}
	l := &JobLog{path: path}
	return l, l.begin()
}

// begin begins the part in which the next byte lies, and removes the one before the last.
func (l *JobLog) begin() error {
	n := l.total / jobPart
	f, err := os.OpenFile(jobPartName(l.path, n), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fileError("log of a job", l.path, err)
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file = f
	if n > 1 {
		_ = os.Remove(jobPartName(l.path, n-2))
	}
	return nil
}

// Write implements [io.Writer].
func (l *JobLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	written := 0
	for len(p) > 0 {
		k := min(int64(len(p)), jobPart-l.total%jobPart)
		n, err := l.file.Write(p[:k])
		written += n
		l.total += int64(n)
		if err == nil && l.total%jobPart == 0 {
			err = l.begin()
		}
		if err != nil {
			return written, err
		}
		p = p[k:]
	}
	return written, nil
}

// Total returns how many bytes were written so far.
func (l *JobLog) Total() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Close implements [io.Closer].
func (l *JobLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// ReadJobLog reads at most limit bytes of a job's output from the byte at, or from so many
// before its end if at is negative. It returns where the bytes begin, which is later if
// older ones are gone, and how many were written in all. Error kind: NotFound.
func ReadJobLog(path string, at int64, limit int) (data []byte, from, total int64, err error) {
	parts, total, err := jobParts(path)
	if err != nil {
		return nil, 0, 0, err
	}
	if at < 0 {
		at = max(0, total+at)
	}
	from = min(max(at, parts[0]*jobPart), total)
	for _, n := range parts {
		if len(data) == limit || (n+1)*jobPart <= from+int64(len(data)) {
			continue
		}
		more, err := readPart(jobPartName(path, n), from+int64(len(data))-n*jobPart, limit-len(data))
		if errors.Is(err, fs.ErrNotExist) && len(data) == 0 { // it has just become too old
			from = (n + 1) * jobPart
			continue
		}
		if err != nil {
			return nil, 0, 0, fileError("log of a job", path, err)
		}
		data = append(data, more...)
	}
	return data, from, max(total, from+int64(len(data))), nil
}

// jobParts returns the numbers of the parts of a log, in their order, and how many bytes
// were written in all.
func jobParts(path string) (parts []int64, total int64, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fileError("log of a job", path, err)
	}
	for _, e := range entries {
		id, n, ok := jobPartOf(e.Name())
		info, err := e.Info()
		if !ok || id != filepath.Base(path) || err != nil {
			continue
		}
		total = max(total, n*jobPart+info.Size())
		parts = append(parts, n)
	}
	if len(parts) == 0 {
		return nil, 0, fika.Errorf(fika.NotFound, "", "the output of this job is not in %s: it was removed, or is on another machine", filepath.Dir(path))
	}
	slices.Sort(parts)
	return parts, total, nil
}

func readPart(name string, at int64, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, at, int64(limit)))
}

func jobPartName(path string, n int64) string { return fmt.Sprintf("%s.%d.log", path, n) }

// jobPartOf reads what [jobPartName] writes.
func jobPartOf(name string) (id string, n int64, ok bool) {
	rest, ok := strings.CutSuffix(name, ".log")
	i := strings.LastIndexByte(rest, '.')
	if !ok || i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(rest[i+1:], 10, 64)
	return rest[:i], n, err == nil
}

// KeepJobLogs removes the logs in a folder that belong to none of the jobs.
func KeepJobLogs(dir string, keep []fika.JobID) {
	known := map[string]bool{}
	for _, id := range keep {
		known[string(id)] = true
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if id, _, ok := jobPartOf(e.Name()); ok && !known[id] {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
