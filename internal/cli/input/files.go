package input

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fika/internal/terminal/console"
)

// typedFiles finds the files whose names a person types.
type typedFiles struct {
	dir  string // the folder of the person's shell
	home string // what ~ stands for
}

// path returns the path of a file from the name that was typed.
func (f typedFiles) path(name string) string {
	if rest, found := strings.CutPrefix(name, "~/"); found {
		return filepath.Join(f.home, rest)
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.dir, name)
}

// isRegular reports whether name is the name of a regular file.
func (f typedFiles) isRegular(name string) bool {
	info, err := os.Stat(f.path(name))
	return err == nil && info.Mode().IsRegular()
}

// maxOffered bounds the number of files offered, maxLooked the number looked at to
// find them, and lookTime the time for that.
const (
	maxOffered = 200
	maxLooked  = 20_000
	lookTime   = 150 * time.Millisecond
)

// complete returns the completions of the name after the @ at start: entries of the
// folder typed so far. If none matches and no folder was typed, it returns files in
// folders below that match.
func (f typedFiles) complete(typed string, start int) []console.Completion {
	dir, begin := filepath.Split(typed)
	entries, err := os.ReadDir(f.path(dir))
	if err != nil {
		return nil
	}
	var out []console.Completion
	for _, x := range entries {
		if len(out) == maxOffered || !strings.HasPrefix(x.Name(), begin) || begin == "" && strings.HasPrefix(x.Name(), ".") {
			continue
		}
		c := console.Completion{Start: start, Text: "@" + dir + x.Name()}
		info, err := os.Stat(filepath.Join(f.path(dir), x.Name()))
		switch {
		case err != nil:
			continue
		case info.IsDir():
			c.Text += "/"
		case info.Mode().IsRegular():
			c.Chip = true
		default:
			continue
		}
		out = append(out, c)
	}
	if len(out) == 0 && dir == "" && begin != "" {
		return f.completeBelow(begin, start)
	}
	return out
}

// completeBelow returns files whose name starts with begin, in all folders below except
// hidden ones and those with other people's code, within maxLooked and lookTime.
func (f typedFiles) completeBelow(begin string, start int) (out []console.Completion) {
	end, looked := time.Now().Add(lookTime), 0
	_ = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case looked > maxLooked || len(out) == maxOffered || time.Now().After(end):
			return filepath.SkipAll
		case err != nil:
			return filepath.SkipDir
		case d.IsDir() && path != f.dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "vendor"):
			return filepath.SkipDir
		case d.Type().IsRegular() && strings.HasPrefix(d.Name(), begin):
			if rel, err := filepath.Rel(f.dir, path); err == nil {
				out = append(out, console.Completion{Start: start, Text: "@" + rel, Chip: true})
			}
		}
		return nil
	})
	return out
}
