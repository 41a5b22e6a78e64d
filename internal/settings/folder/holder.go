package folder

import (
	"os"
	"path/filepath"

	"fika"
)

// Holder is a process that runs tools in a context of this home.
type Holder struct {
	Agent   fika.AgentName
	Process fika.Process
}

// Holders returns the processes that the lock files of this home name as owners of a
// context: agents and one-shot prompts, not commands. It takes no lock and does not
// check whether they run; the caller compares them with running processes. A home
// without contexts has none.
func (h Home) Holders() []Holder {
	dirs, err := os.ReadDir(h.ContextsDir())
	if err != nil {
		return nil
	}
	var out []Holder
	for _, d := range dirs {
		name, err := fika.ParseAgentName(d.Name())
		if err != nil || string(name) != d.Name() {
			continue
		}
		path := h.Folder(name).lockPath()
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			continue // free, as most are: a stat costs a fifth of opening
		}
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		info, ok := readLockInfo(file)
		_ = file.Close()
		if ok && info.PID > 0 && (info.Kind == LockAgent || info.Kind == LockRun) {
			out = append(out, Holder{Agent: name, Process: info.Process()})
		}
	}
	return out
}

// KnownHomes returns the homes that a person of this machine most likely has: inUse,
// $FIKA_HOME, ~/.fika, and the projects below it. They need not exist. If $HOME and the
// user's account name different home folders, both are used.
func KnownHomes(inUse string, getenv func(string) string) []string {
	var out []string
	seen := map[string]bool{}
	add := func(root string) {
		if root == "" {
			return
		}
		if abs, err := filepath.Abs(root); err == nil && !seen[abs] {
			seen[abs] = true
			out = append(out, abs)
		}
	}
	add(inUse)
	add(getenv("FIKA_HOME"))
	for _, home := range PersonHomes(getenv) {
		add(filepath.Join(home, ".fika"))
		projects, _ := filepath.Glob(filepath.Join(home, ".fika", "projects", "*"))
		for _, p := range projects {
			add(p)
		}
	}
	return out
}
