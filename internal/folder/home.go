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

// Home is the folder that holds everything of one person: settings, prompts,
// plugins, contexts, and by default the database. The zero value is not
// usable; obtain one with [OpenHome]. It is a value: copy it freely.
type Home struct {
	Root string // absolute

	texts *texts // nil: each text is read when it is asked for
}

// DefaultRoot says where the home is: $FIKA_HOME, else ~/.fika. getenv is
// os.Getenv in a program. Error kind: Invalid when neither can be known.
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

// OpenHome makes sure that the home exists (0700) and can be written. In a
// home that exists it costs three stats. Error kinds: Invalid (root is not a
// folder), Storage (it cannot be made or written), Denied (others may write it).
func OpenHome(root string) (Home, error) {
	const op = "open home"
	abs, err := filepath.Abs(root)
	if root == "" || err != nil {
		return Home{}, fika.Errorf(fika.Invalid, op, "%q is no folder name", root)
	}
	h := Home{Root: abs}
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

// Prepare makes what a person edits in a home that has none of it yet:
// prompts/, plugins/, config.toml with the text given, and state.json. A home
// that has settings or a state is left alone.
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

// OpenReadOnly gives a home that cannot be written, for commands that only look
// at it. Error kinds: as [OpenHome]'s; NotFound when there is nothing to read.
func OpenReadOnly(root string) (Home, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return Home{}, fika.Wrap(fika.Invalid, "open home", err)
	}
	if _, err := os.ReadDir(abs); err != nil {
		return Home{}, fika.Wrap(fika.NotFound, "open home", err)
	}
	return Home{Root: abs}, refuseShared(abs)
}

// refuseShared refuses a folder that everybody may write: whoever writes there
// gives the agents their prompts, their permissions and their plugins.
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

func (h Home) path(elem ...string) string {
	return filepath.Join(append([]string{h.Root}, elem...)...)
}

// ConfigFile is config.toml.
func (h Home) ConfigFile() string { return h.path("config.toml") }

// ModelsFile is models.toml.
func (h Home) ModelsFile() string { return h.path("models.toml") }

// PromptsDir holds default.md, reflection.md, compaction.md, continuation.md.
func (h Home) PromptsDir() string { return h.path("prompts") }

// RecipesDir holds the texts of the plugin workflow: ways of working that an
// agent can take up.
func (h Home) RecipesDir() string { return h.path("prompts", "workflows") }

// WorkflowsDir holds the definitions of workflows, a NAME.toml each.
func (h Home) WorkflowsDir() string { return h.path("workflows") }

// ChatsDir holds what was said in chats as text, a NAME.md each.
func (h Home) ChatsDir() string { return h.path("chats") }

// CommandsDir holds a person's own commands of a session, a NAME.md each.
func (h Home) CommandsDir() string { return h.path("commands") }

// PluginsDir holds plugins.
func (h Home) PluginsDir() string { return h.path("plugins") }

// ContextsDir holds one folder per context.
func (h Home) ContextsDir() string { return h.path("contexts") }

// UndoDir holds what agents have changed, and what was there before.
func (h Home) UndoDir() string { return h.path("undo") }

// StateFile is state.json.
func (h Home) StateFile() string { return h.path("state.json") }

// VersionFile says which form of the home was used last, so that a newer fika
// can tell what is different.
func (h Home) VersionFile() string { return h.path("home_version") }

// DatabaseFile is the SQLite database.
func (h Home) DatabaseFile() string { return h.path("fika.db") }

// StoreFile holds the id of the store that this home has had.
func (h Home) StoreFile() string { return h.path("store_id") }

// KeysFile is where API keys are stored.
func (h Home) KeysFile() string { return h.path("keys") }

// RunDir holds what belongs to running processes. It may not exist yet; see
// [Home.EnsureDir].
func (h Home) RunDir() string { return h.path("run") }

// LogsDir holds one log per agent.
func (h Home) LogsDir() string { return h.path("run", "logs") }

// LogFile is where an agent's process logs.
func (h Home) LogFile(name fika.AgentName) string { return h.path("run", "logs", string(name)+".log") }

// MCPDir holds what MCP servers said of their tools, a file each.
func (h Home) MCPDir() string { return h.path("mcp") }

// MCPLog is where an MCP server's stderr goes.
func (h Home) MCPLog(server string) string { return h.path("run", "logs", "mcp-"+server+".log") }

// EnsureDir makes a folder of the home (0700) if it is missing.
func (h Home) EnsureDir(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	return fileError("make folder", dir, os.MkdirAll(dir, dirMode))
}

// ID is the stable name of this home, made on first use and kept in home_id.
// Processes that ask at once get the same one.
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

// makeID links a finished file into place, so that nobody reads half an id
// and the first of several processes wins.
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
