package confine

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"fika"
	"fika/internal/repository/git"
	"fika/internal/sandbox"
)

// memory is what a [Probe] remembers of workspaces from call to call.
type memory struct {
	mu      sync.Mutex
	folders map[string]*folders
	obeyed  map[string]knownObeyed
	past    history
}

// knownObeyed is what git obeys, as long as the files that were read have these stamps.
type knownObeyed struct {
	paths  []string
	stamps map[string]sandbox.Stamp
}

// init makes the maps; mu is held.
func (m *memory) init() {
	if m.folders == nil {
		m.folders, m.obeyed, m.past = map[string]*folders{}, map[string]knownObeyed{}, history{map[string]string{}, map[string]string{}}
	}
}

// foldersOf returns what is known of the folders of a workspace.
func (m *memory) foldersOf(workspace string) *folders {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.init()
	if m.folders[workspace] == nil {
		m.folders[workspace] = &folders{}
	}
	return m.folders[workspace]
}

// Obeyed returns the files and folders that git reads as settings, or runs, in a
// workspace because settings name them; those outside of it are left out.
func (p *Probe) Obeyed(workspace string) []string {
	p.memory.mu.Lock()
	p.memory.init()
	known, ok := p.memory.obeyed[workspace]
	p.memory.mu.Unlock()
	if ok && known.current() {
		return known.paths
	}
	found := git.FindObeyed(context.Background(), workspace)
	known = knownObeyed{stamps: map[string]sandbox.Stamp{}}
	for _, path := range found.Read {
		known.stamps[path] = stampOf(path)
	}
	real, _ := filepath.EvalSymlinks(workspace)
	for _, path := range found.Paths {
		if rest, err := filepath.Rel(real, path); err == nil && real != workspace && filepath.IsLocal(rest) {
			path = filepath.Join(workspace, rest)
		}
		if !sandbox.Within(path, workspace) && !sandbox.Within(path, real) { // the workspace as a whole cannot be one
			known.paths = append(known.paths, path)
		}
	}
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	p.memory.obeyed[workspace] = known
	return known.paths
}

func (k knownObeyed) current() bool {
	for path, stamp := range k.stamps {
		if stampOf(path) != stamp {
			return false
		}
	}
	return true
}

// stampOf returns the stamp of a file; that of a file that does not exist is empty.
func stampOf(path string) sandbox.Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return sandbox.Stamp{}
	}
	s, _ := sandbox.StampOf(info)
	return s
}

// repositories is what a call finds in its workspace: the repository that it belongs to,
// and those that lie in it.
type repositories struct {
	own    repository
	nested []string
}

func (c *call) repositories() repositories {
	r := repositories{own: findRepository(c.workspace)}
	for _, path := range c.agent.opts.Probe.memory.foldersOf(c.workspace).repositories(c.workspace) {
		if path != r.own.dot && !sandbox.Within(r.own.dir, path) {
			r.nested = append(r.nested, path)
		}
	}
	return r
}

// protected returns the .git of each submodule.
func (r repositories) submodules() (out []string) {
	for _, dot := range r.nested {
		if info, err := os.Lstat(dot); err == nil && info.Mode().IsRegular() && slices.Contains(r.own.nested(), pathIn(dot, "gitdir: ", filepath.Dir(dot))) {
			out = append(out, dot)
		}
	}
	return out
}

// watch is what is remembered of the repositories of a call, so that what it changes
// beyond the allow-list can be put back after it.
type watch struct {
	watched
	probe  *Probe
	record string // file with the same content
}

// watched is the part of a watch that its record stores.
type watched struct {
	Workspace string
	Own       string // the .git that the workspace belongs to
	Aside     string
	Agent     fika.AgentName
	Network   bool
	Git       *gitDir
	Nested    map[string]obeyed
}

// watchRecords matches the records of watches in a folder of calls.
const watchRecords = "git-*.json"

// watch begins to watch the repositories of a call; nil if it can change none of them.
func (c *call) watch(r repositories) (*watch, error) {
	o := &c.agent.opts
	if o.ReadOnly {
		return nil, nil
	}
	w := &watch{probe: o.Probe, watched: watched{Workspace: c.workspace, Own: r.own.dot, Aside: o.Aside, Agent: o.Limits.Agent, Network: o.Network, Nested: map[string]obeyed{}}}
	if !c.ownsRepository(r.own) {
		w.Git = readGitDir(r.own)
	}
	for _, repo := range r.nested {
		w.Nested[repo] = readObeyed(repo)
	}
	if o.Calls == "" || w.Git == nil && len(w.Nested) == 0 {
		return w, nil
	}
	data, err := json.Marshal(w.watched)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Calls, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(o.Calls, watchRecords)
	if err != nil {
		return nil, err
	}
	w.record = f.Name()
	_, err = f.Write(data)
	return w, errors.Join(err, f.Close())
}

// end puts back what is not allowed, and returns a line about each change.
func (w *watch) end() (lines []string, err error) {
	if w == nil {
		return nil, nil
	}
	defer os.Remove(w.record)
	if w.Git != nil {
		w.probe.memory.mu.Lock()
		w.probe.memory.init()
		s := settleGitDir{was: w.Git, agent: w.Agent, aside: w.Aside, network: w.Network, past: w.probe.memory.past}
		s.run()
		w.probe.memory.mu.Unlock()
		lines, err = s.lines, errors.Join(s.errs...)
	}
	n := nested{aside: w.Aside, modules: func(dir string) bool { return w.Git != nil && slices.Contains(w.Git.Nested, dir) && isFolder(dir) }}
	for _, repo := range w.probe.memory.foldersOf(w.Workspace).repositories(w.Workspace) {
		if repo != w.Own && (w.Git == nil || !sandbox.Within(w.Git.Dir, repo)) {
			n.settle(repo, w.Nested[repo])
		}
	}
	for repo, was := range w.Nested { // a .git that was taken from a folder that is still there
		if _, gone := os.Lstat(repo); errors.Is(gone, fs.ErrNotExist) && len(was) == 1 && isFolder(filepath.Dir(repo)) {
			if file, ok := was[""]; ok {
				n.errs = append(n.errs, file.write(repo))
			}
		}
	}
	return append(lines, n.lines...), errors.Join(err, errors.Join(n.errs...))
}

// close forgets a call that has not begun.
func (w *watch) close() {
	if w != nil {
		_ = os.Remove(w.record)
	}
}

// UndoKilled puts back what calls changed of repositories whose process was killed before
// it could check, and returns a line about each change. No call with a record in the
// folder may be running, and [sandbox.UndoKilled] has to be called first.
func UndoKilled(calls string) (changes []string, err error) {
	found, _ := filepath.Glob(filepath.Join(calls, watchRecords))
	for _, path := range found {
		data, failed := os.ReadFile(path)
		w := watch{record: path, probe: &Probe{}}
		if failed != nil || json.Unmarshal(data, &w.watched) != nil {
			w.close() // killed while it was written: the call had not begun
			continue
		}
		lines, failed := w.end()
		changes, err = append(changes, lines...), errors.Join(err, failed)
	}
	return changes, err
}
