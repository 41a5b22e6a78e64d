package project

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"fika"
)

// State says whether a person has agreed to a project's files.
type State string

// The states of a project.
const (
	Untrusted State = "untrusted" // nothing of it is in force
	Trusted   State = "trusted"
	Changed   State = "changed" // the agreed files are in force, but the project's files differ
)

// Trust is a person's agreement.
type Trust struct {
	Digest       string    `json:"digest"`
	At           time.Time `json:"trusted_at"`
	Instructions bool      `json:"instructions"` // AGENTS.md is part of it
}

func (p *Project) trustFile() string { return filepath.Join(p.Home, "trust.json") }
func (p *Project) copiesDir() string { return filepath.Join(p.Home, "trusted") }

// TrustFile returns the path of the file that changes whenever the agreement does.
func (p *Project) TrustFile() string { return p.trustFile() }

// Trust returns the person's agreement, or false if there is none. An agreement that
// cannot be read counts as none.
func (p *Project) Trust() (Trust, bool) {
	data, _, err := readRegular(p.trustFile(), 64<<10)
	var t Trust
	if err != nil || json.Unmarshal(data, &t) != nil || len(t.Digest) != 64 || !filepath.IsLocal(t.Digest) {
		return Trust{}, false
	}
	if _, err := os.Stat(p.copyOf(t.Digest)); err != nil {
		return Trust{}, false
	}
	return t, true
}

func (p *Project) copyOf(digest string) string { return filepath.Join(p.copiesDir(), digest[:16]) }

// Copy returns the folder with the files that the person agreed to, laid out as in the
// project: COPY/.fika, COPY/AGENTS.md. It is "" when nothing is trusted.
func (p *Project) Copy() string {
	t, ok := p.Trust()
	if !ok {
		return ""
	}
	return p.copyOf(t.Digest)
}

// AgreedFiles returns the files that the person agreed to, or an empty tree.
func (p *Project) AgreedFiles() (Tree, error) {
	dir := p.Copy()
	if dir == "" {
		return Tree{}, nil
	}
	t, err := readFolder(dir)
	if fika.IsKind(err, fika.NotFound) {
		t, err = Tree{}, nil // it holds only skills and instructions
	}
	if err == nil {
		t, err = t.withSkills(dir)
	}
	if err != nil {
		return Tree{}, err
	}
	paths, err := findInstructions(dir)
	if err != nil {
		return Tree{}, err
	}
	return t.withPaths(dir, paths)
}

// State compares the files in the working tree at hand with those that the person
// agreed to. within is the folder in which the work is done: instructions between it
// and the root counts even if it is new. The state is Changed if the project's files
// cannot be read, and Untrusted if the agreed copy cannot.
func (p *Project) State(within string) State {
	trust, ok := p.Trust()
	if !ok {
		return Untrusted
	}
	agreed, err := p.AgreedFiles()
	if err != nil {
		return Untrusted
	}
	now, err := readFolder(p.Root)
	if err == nil {
		now, err = now.withSkills(p.Root)
	}
	if err == nil && trust.Instructions {
		now, err = now.withPaths(p.Root, p.instructionsAt(agreed, within))
	}
	if err != nil || now.Digest() != agreed.Digest() {
		return Changed
	}
	return Trusted
}

// instructionsAt returns the files with instructions that matter to work in a folder.
func (p *Project) instructionsAt(agreed Tree, within string) []string {
	var paths []string
	look := func(rel string) {
		if path := InstructionsIn(filepath.Join(p.Root, rel)); path != "" {
			paths = append(paths, filepath.Join(rel, filepath.Base(path)))
		}
	}
	look("")
	for _, f := range agreed.Files {
		if IsInstructions(f.Path) {
			look(filepath.Dir(filepath.FromSlash(f.Path)))
		}
	}
	for dir := realPath(within); ; dir = filepath.Dir(dir) {
		rel, err := filepath.Rel(p.Root, dir)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			break
		}
		look(rel)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Accept puts a tree in force: it first copies the bytes to the home and then records
// the agreement atomically. The home must exist. The files that were in force before
// stay for processes that have begun with them.
func (p *Project) Accept(t Tree, instructions bool, now time.Time) error {
	const op = "trust"
	before, had := p.Trust()
	digest := t.Digest()
	if err := p.copyTree(t, digest); err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	data, err := json.MarshalIndent(Trust{Digest: digest, At: now.UTC(), Instructions: instructions}, "", "  ")
	if err == nil {
		err = renameio.WriteFile(p.trustFile(), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	keep := []string{digest[:16]}
	if had {
		keep = append(keep, before.Digest[:16])
	}
	p.removeCopies(keep)
	return nil
}

// Revoke withdraws the agreement. The files that were in force stay for processes that
// have begun with them.
func (p *Project) Revoke() error {
	err := os.Remove(p.trustFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fika.Wrap(fika.Storage, "trust", err)
}

// copyTree writes a tree to the folder named after its digest.
func (p *Project) copyTree(t Tree, digest string) error {
	to := p.copyOf(digest)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(p.copiesDir(), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(p.copiesDir(), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, f := range t.Files {
		path := filepath.Join(tmp, filepath.FromSlash(f.Path))
		mode := fs.FileMode(0o400)
		if f.Exec {
			mode = 0o500
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			return err
		}
	}
	err = os.Rename(tmp, to)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// removeCopies removes all copies but those to keep, which processes may still use.
func (p *Project) removeCopies(keep []string) {
	list, _ := os.ReadDir(p.copiesDir())
	for _, d := range list {
		if !slices.Contains(keep, d.Name()) {
			_ = os.RemoveAll(filepath.Join(p.copiesDir(), d.Name()))
		}
	}
}
