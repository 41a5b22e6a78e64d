package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"fika"
)

// Home is the folder that holds everything of one person: settings, prompts, plugins,
// contexts, and by default the database. The zero value is not usable; [OpenHome]
// returns one. It is a value and may be copied.
type Home struct {
	Paths

	texts *texts // nil: texts are not cached
}

// HomeAt returns the home in a folder, without checking or creating it.
func HomeAt(root string) Home { return Home{Paths: Paths{Root: root}} }

// DefaultRoot returns the path of the home: $FIKA_HOME, else ~/.fika. getenv is
// os.Getenv in a program. It returns Invalid if neither is known.
func DefaultRoot(getenv func(string) string) (string, error) {
	if root := getenv("FIKA_HOME"); root != "" {
		return root, nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", fika.Errorf(fika.Invalid, "find home", "neither FIKA_HOME nor HOME is set: set FIKA_HOME to the folder fika shall keep its files in")
	}
	return filepath.Join(home, ".fika"), nil
}

// OpenHome makes sure that the home exists (0700) and can be written. For an existing
// home it costs three stats. Error kinds: Invalid (root is not a folder), Storage (it
// cannot be created or written), Denied (others may write it).
func OpenHome(root string) (Home, error) {
	const op = "open home"
	abs, err := filepath.Abs(root)
	if root == "" || err != nil {
		return Home{}, fika.Errorf(fika.Invalid, op, "%q is not a folder name", root)
	}
	h := HomeAt(abs)
	for _, dir := range []string{h.Root, h.ContextsDir()} {
		st, err := os.Stat(dir)
		switch {
		case err == nil && !st.IsDir():
			return Home{}, fika.Errorf(fika.Invalid, op, "%s is a file, not a folder: move it away or set FIKA_HOME", dir)
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return Home{}, homeError(dir, err)
		}
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return Home{}, homeError(dir, err)
		}
	}
	if err := checkWritable(h.Root); err != nil {
		return Home{}, homeError(h.Root, err)
	}
	return h, refuseShared(h.Root)
}

// Prepare creates the files that a person edits in a home that has none of them:
// prompts/, plugins/, config.toml with the given text, and state.json. A home with
// settings or a state is left alone.
func (h Home) Prepare(config string) error {
	for _, file := range []string{h.ConfigFile(), h.StateFile()} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	for _, dir := range []string{h.PromptsDir(), h.PluginsDir()} {
		if err := h.EnsureDir(dir); err != nil {
			return err
		}
	}
	if err := h.writeState(State{Current: DefaultContext}); err != nil {
		return err
	}
	f, err := os.OpenFile(h.ConfigFile(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was quicker
	}
	if err != nil {
		return fileError("write "+filepath.Base(h.ConfigFile()), h.ConfigFile(), err)
	}
	_, err = f.WriteString(config)
	return fileError("write "+filepath.Base(h.ConfigFile()), h.ConfigFile(), errors.Join(err, f.Close()))
}

// OpenReadOnly opens a home that cannot be written, for commands that only read it.
// Error kinds: those of [OpenHome]; NotFound if there is nothing to read.
func OpenReadOnly(root string) (Home, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return Home{}, fika.Wrap(fika.Invalid, "open home", err)
	}
	if _, err := os.ReadDir(abs); err != nil {
		return Home{}, fika.Wrap(fika.NotFound, "open home", err)
	}
	return HomeAt(abs), refuseShared(abs)
}

// refuseShared refuses a folder that everybody may write, because anybody could then
// give the agents their prompts, permissions and plugins.
func refuseShared(dir string) error {
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm()&0o002 == 0 {
		return nil
	}
	return fika.Errorf(fika.Denied, "open home", "%s can be written by everybody (mode %o), so anybody could command your agents: chmod 700 %s", dir, st.Mode().Perm(), dir)
}

func homeError(dir string, err error) error {
	msg := dir + " cannot be made or written: check its owner and permissions, or set FIKA_HOME to another folder"
	if errors.Is(err, syscall.EROFS) {
		msg = dir + " is on a read-only disk: commands that only look work, all others need FIKA_HOME on a disk that can be written"
	}
	return &fika.Error{Kind: fika.Storage, Op: "open home", Msg: msg, Err: err}
}

// EnsureDir creates a folder of the home (0700) if it is missing.
func (h Home) EnsureDir(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	return fileError("make folder", dir, os.MkdirAll(dir, dirMode))
}

// ID returns the stable id of this home, created on first use and kept in home_id.
// Processes that ask at the same time get the same id.
func (h Home) ID() (string, error) {
	const op = "read home id"
	path := h.path("home_id")
	for {
		data, err := os.ReadFile(path)
		if err == nil {
			id, err := uuid.Parse(strings.TrimSpace(string(data)))
			if err != nil {
				return "", fika.Errorf(fika.Invalid, op, "%s does not hold a uuid: restore it from a backup, or delete it to make this a new home", path)
			}
			return id.String(), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fileError(op, path, err)
		}
		if err := h.makeID(path); err != nil {
			return "", err
		}
	}
}

// makeID links a complete file into place, so that nobody reads half an id and the
// first of several processes wins.
func (h Home) makeID(path string) error {
	f, err := os.CreateTemp(h.Root, ".home_id-*")
	if err != nil {
		return fileError("make home id", path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(uuid.NewString() + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return fileError("make home id", path, err)
}
