package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/text/hint"
)

// Project is a folder with a .fika in it, and the home that holds its data. It is an
// immutable value.
type Project struct {
	ID   string
	Root string // the folder that contains .fika, in the working tree at hand
	Main string // the same folder in the main working tree
	Home string // holds its data
}

// Name returns the name that people use for the project.
func (p *Project) Name() string { return filepath.Base(p.Main) }

// Dir returns the project's .fika folder.
func (p *Project) Dir() string { return filepath.Join(p.Root, Folder) }

// HomesFolder returns the folder that holds the homes of all projects of a person.
func HomesFolder(user string) string { return filepath.Join(user, "projects") }

// newProject returns the project of a folder. All working trees of a repository share
// one ID and home.
func newProject(user, root, repository, common, main string) *Project {
	p := &Project{Root: root, Main: root}
	key := "folder\x00" + root
	if common != "" {
		rel, _ := filepath.Rel(repository, root)
		if r, err := filepath.Rel(main, root); main != "" && err == nil && filepath.IsLocal(r) {
			rel = r // it was found in the main working tree
		}
		if main != "" {
			p.Main = filepath.Join(main, rel)
		}
		key = "git\x00" + common + "\x00" + rel
	}
	sum := sha256.Sum256([]byte(key))
	p.ID = safeName(p.Name()) + "-" + hex.EncodeToString(sum[:5])
	p.Home = filepath.Join(HomesFolder(user), p.ID)
	return p
}

// safeName turns a name into one that is safe in a path and in a shell.
func safeName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_', r == '-' && b.Len() > 0:
			b.WriteRune(r)
		}
		if b.Len() == 32 {
			break
		}
	}
	if b.Len() == 0 {
		return "project"
	}
	return b.String()
}

// record identifies the project of a home.
type record struct {
	ID   string    `json:"id"`
	Root string    `json:"root"` // in the main working tree
	Made time.Time `json:"made_at"`
}

func recordFile(home string) string { return filepath.Join(home, "project.json") }

// Load returns the project whose data are in a home, or nil when the home is not a
// project's. It fails with Invalid when the record cannot be read or names no project.
func Load(home string) (*Project, error) {
	data, _, err := readRegular(recordFile(home), 64<<10)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil || r.ID == "" || !filepath.IsAbs(r.Root) {
		return nil, fika.Errorf(fika.Invalid, "read project", "%s does not say which project this is: restore it, or go to the project's folder and run %s", recordFile(home), hint.ProjectMove.With(filepath.Base(home)))
	}
	return &Project{ID: r.ID, Root: r.Root, Main: r.Root, Home: home}, nil
}

// NoteIdentity records in the home which project it belongs to. The home must exist.
func (p *Project) NoteIdentity(now time.Time) error {
	if _, err := os.Lstat(recordFile(p.Home)); err == nil {
		return nil
	}
	return p.writeRecord(now)
}

func (p *Project) writeRecord(now time.Time) error {
	data, err := json.MarshalIndent(record{ID: p.ID, Root: p.Main, Made: now.UTC()}, "", "  ")
	if err == nil {
		err = renameio.WriteFile(recordFile(p.Home), append(data, '\n'), 0o600)
	}
	return fika.Wrap(fika.Storage, "note project", err)
}
