package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The limits on the kept outputs of tools, for each context.
const (
	outputAge  = 30 * 24 * time.Hour
	outputSize = 1 << 30
	// outputRest is how long a file is never removed because of the total size: the
	// model has only just been told of it.
	outputRest = time.Hour
)

// OutputDir returns the folder that keeps the full output of a tool if the model is
// shown only a part of it.
func (f Folder) OutputDir() string { return filepath.Join(f.Path(), "output") }

// AgeOutput removes from [Folder.OutputDir] what is older than thirty days, and then
// the oldest files until at most a gibibyte is left; files younger than an hour stay.
// Only files that tools left there count (*.out), whoever holds the context's lock. It
// returns the number of removed files; the error lists those that could not be removed,
// after everything else was.
func (f Folder) AgeOutput(now time.Time) (removed int, err error) {
	entries, err := os.ReadDir(f.OutputDir())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fileError("age output", f.OutputDir(), err)
	}
	var files []fs.FileInfo
	var size int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".out") {
			files = append(files, info)
			size += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	var errs []error
	for _, info := range files {
		age := now.Sub(info.ModTime())
		if age <= outputAge && (size <= outputSize || age <= outputRest) {
			break // those that follow are younger
		}
		path := filepath.Join(f.OutputDir(), info.Name())
		switch err := os.Remove(path); {
		case err == nil:
			removed++
		case !errors.Is(err, fs.ErrNotExist): // another process was as quick
			errs = append(errs, fileError("age output", path, err))
			continue
		}
		size -= info.Size()
	}
	return removed, errors.Join(errs...)
}
