package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fika"
)

// record is where an installation notes itself, below its prefix.
const record = "share/fika/installed"

// Installed is an installation of the program.
type Installed struct {
	Program string // its file, with links followed
	Prefix  string // the folder above its bin; empty without a record
	By      string // script, deb, rpm, npm or brew; empty if nothing is noted
	Remove  string // the command that removes it; empty: [Installed.RemoveFiles] does
	Source  string // where it was fetched from
	Files   []string
}

// Find returns the installation that a program belongs to. Without a record it is that one
// file, as go install leaves it.
func Find(program string) (Installed, error) {
	const op = "find installation"
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return Installed{}, fika.Wrap(fika.Storage, op, err)
	}
	alone := Installed{Program: program, Files: []string{program}}
	prefix := filepath.Dir(filepath.Dir(program))
	text, err := os.ReadFile(filepath.Join(prefix, record))
	if errors.Is(err, fs.ErrNotExist) {
		return alone, nil
	}
	if err != nil {
		return Installed{}, fika.Wrap(fika.Storage, op, err)
	}
	found := Installed{Program: program, Prefix: prefix}
	own := false
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "by":
			found.By = value
		case "remove":
			found.Remove = value
		case "source":
			found.Source = value
		case "file":
			if !filepath.IsLocal(value) {
				return Installed{}, fika.Errorf(fika.Invalid, op, "%s names a file outside of %s: %s", filepath.Join(prefix, record), prefix, value)
			}
			file := filepath.Join(prefix, value)
			found.Files = append(found.Files, file)
			own = own || file == program
		}
	}
	if found.Remove == "" && !own { // the record of another program beside this one
		return alone, nil
	}
	if found.Remove == "" {
		found.Files = append(found.Files, filepath.Join(prefix, record))
	}
	return found, nil
}

// RemoveFiles removes the files of the installation, the program last but for the record,
// so that what is interrupted can be repeated. Folders stay, but for the one of the record.
func (i Installed) RemoveFiles() error {
	var last, rest []string
	for _, file := range i.Files {
		if file == i.Program || i.Prefix != "" && file == filepath.Join(i.Prefix, record) {
			last = append(last, file)
		} else {
			rest = append(rest, file)
		}
	}
	for _, file := range append(rest, last...) {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fika.Wrap(fika.Storage, "remove", err)
		}
	}
	if i.Prefix != "" {
		_ = os.Remove(filepath.Dir(filepath.Join(i.Prefix, record))) // not empty: somebody else's files
	}
	return nil
}
