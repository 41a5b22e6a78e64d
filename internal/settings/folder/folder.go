package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fika"
)

// Folder is one context folder: contexts/NAME. It is a value and gives no right to
// write; a [Lock] does.
type Folder struct {
	Home Home
	Name fika.AgentName
}

// Folder returns a context folder without checking that it exists.
func (h Home) Folder(name fika.AgentName) Folder { return Folder{Home: h, Name: name} }

// OpenFolder returns an existing context folder. Error kinds: NotFound, Invalid.
func OpenFolder(h Home, name fika.AgentName) (Folder, error) {
	f := h.Folder(name)
	if err := checkName(name); err != nil {
		return Folder{}, err
	}
	st, err := os.Stat(f.Path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Folder{}, fika.Errorf(fika.NotFound, "open context", "context %q not found", name)
	case err != nil:
		return Folder{}, fileError("open context", f.Path(), err)
	case !st.IsDir():
		return Folder{}, fika.Errorf(fika.Invalid, "open context", "%s is not a folder: move it away", f.Path())
	}
	return f, nil
}

// checkName protects paths from a name that was not parsed.
func checkName(name fika.AgentName) error {
	parsed, err := fika.ParseAgentName(string(name))
	if err == nil && parsed != name {
		err = fika.Errorf(fika.Invalid, "agent name", "%q is not in lower case", string(name))
	}
	return err
}

// Create creates a context folder. It returns Conflict if the folder exists.
func (h Home) Create(name fika.AgentName) (Folder, error) {
	const op = "create context"
	if err := checkName(name); err != nil {
		return Folder{}, err
	}
	f := h.Folder(name)
	taken := fika.Errorf(fika.Conflict, op, "context %q exists already", name)
	if _, err := os.Lstat(f.Path()); err == nil {
		return Folder{}, taken
	}
	if err := h.EnsureDir(h.ContextsDir()); err != nil {
		return Folder{}, err
	}
	removeOld(h.ContextsDir(), ".create-*", time.Now())
	made, err := os.MkdirTemp(h.ContextsDir(), ".create-*") // nobody sees an unfinished context
	if err != nil {
		return Folder{}, fileError(op, f.Path(), err)
	}
	if err = writeMetaIn(made, newMeta(time.Now())); err == nil {
		err = os.Rename(made, f.Path())
	}
	if err == nil {
		return f, nil
	}
	_ = os.RemoveAll(made)
	if st, statErr := os.Lstat(f.Path()); statErr == nil && st.IsDir() { // another process was faster
		return Folder{}, taken
	}
	return Folder{}, fileError(op, f.Path(), err)
}

// Ensure opens a context folder, and creates it if it is missing.
func (h Home) Ensure(name fika.AgentName) (f Folder, created bool, err error) {
	f, err = OpenFolder(h, name)
	if !fika.IsKind(err, fika.NotFound) {
		return f, false, err
	}
	f, err = h.Create(name)
	if fika.IsKind(err, fika.Conflict) { // another process was faster
		f, err = OpenFolder(h, name)
		return f, false, err
	}
	return f, err == nil, err
}

// List returns the contexts by name, and the entries of contexts/ whose names are
// invalid for contexts.
func (h Home) List() (names []fika.AgentName, strange []string, err error) {
	dir, err := os.ReadDir(h.ContextsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fileError("list contexts", h.ContextsDir(), err)
	}
	for _, d := range dir {
		if d.Name()[0] == '.' {
			continue
		}
		st, err := os.Stat(filepath.Join(h.ContextsDir(), d.Name()))
		name := fika.AgentName(d.Name())
		if err != nil || !st.IsDir() || checkName(name) != nil {
			strange = append(strange, d.Name())
			continue
		}
		names = append(names, name)
	}
	return names, strange, nil
}

func (f Folder) path(name string) string { return filepath.Join(f.Path(), name) }

// Path returns the path of the folder.
func (f Folder) Path() string { return filepath.Join(f.Home.Root, "contexts", string(f.Name)) }

// LocalConfig returns the path of local.toml.
func (f Folder) LocalConfig() string { return f.path("local.toml") }

// Workspace returns the root of file tools of an agent that the hub starts, unless its
// settings name another.
func (f Folder) Workspace() string { return f.path("workspace") }

// Rename renames the locked context; the lock goes with it. The caller renames the
// agent in the database. It returns Conflict if the name is taken.
func (l *Lock) Rename(name fika.AgentName) error {
	const op = "rename context"
	if err := checkName(name); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkHeld(); err != nil {
		return err
	}
	old, next := l.folder, l.folder.Home.Folder(name)
	if _, err := os.Lstat(next.Path()); err == nil {
		return fika.Errorf(fika.Conflict, op, "context %q exists already", name)
	}
	if err := os.Rename(old.Path(), next.Path()); err != nil {
		return fileError(op, old.Path(), err)
	}
	l.folder = next
	return old.Home.followRename(old.Name, name)
}

// Remove deletes the locked context with all its files and ends the lock. The folder is
// moved away in one step, so an interrupted removal never leaves half a context.
func (l *Lock) Remove() error {
	const op = "remove context"
	l.mu.Lock()
	if err := l.checkHeld(); err != nil {
		l.mu.Unlock()
		return err
	}
	f := l.folder
	trash, err := os.MkdirTemp(f.Home.ContextsDir(), ".removed-*")
	if err == nil {
		err = os.Rename(f.Path(), filepath.Join(trash, string(f.Name)))
	}
	l.mu.Unlock()
	if err != nil {
		_ = os.Remove(trash)
		return fileError(op, f.Path(), err)
	}
	return errors.Join(
		l.Close(),
		fileError(op, f.Path(), os.RemoveAll(trash)),
		f.Home.followRename(f.Name, ""),
	)
}
