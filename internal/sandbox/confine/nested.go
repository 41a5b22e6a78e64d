package confine

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fika/internal/sandbox"
)

// Limits of the search for repositories in a workspace. What lies beyond them is not
// looked at.
const (
	maxFolders   = 200_000
	maxObeyed    = 2000    // files of one repository
	maxObeyedAll = 1 << 20 // bytes of one such file
)

// folders knows the folders of a workspace, so that only those that were touched are
// read again. It is safe for concurrent use.
type folders struct {
	mu    sync.Mutex
	known map[string]seenFolder
}

// seenFolder is a folder as it was read.
type seenFolder struct {
	stamp   sandbox.Stamp
	settled bool
	below   []string // names of folders, without repositories
	repos   []string // names of what git takes for a repository; "" for the folder itself
}

// repositories returns the paths of all that git would take for a repository in root:
// each .git, whatever it is, and each bare repository.
func (f *folders) repositories(root string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := make(map[string]seenFolder, len(f.known))
	var out []string
	var visit func(dir string)
	visit = func(dir string) {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || len(now) == maxFolders {
			return
		}
		stamp, settled := sandbox.StampOf(info)
		seen, ok := f.known[dir]
		if !ok || !seen.settled || seen.stamp != stamp {
			seen = readFolder(dir)
			seen.stamp, seen.settled = stamp, settled
		}
		now[dir] = seen
		for _, name := range seen.repos {
			out = append(out, filepath.Join(dir, name))
		}
		for _, name := range seen.below {
			visit(filepath.Join(dir, name))
		}
	}
	visit(root)
	f.known = now
	return out
}

func readFolder(dir string) (s seenFolder) {
	f, err := os.Open(dir)
	if err != nil {
		return s
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	has := map[string]bool{}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.EqualFold(name, ".git"):
			s.repos = append(s.repos, name)
		case name == "HEAD", name == "refs", name == "commondir", name == "objects":
			has[name] = true
			fallthrough
		default:
			if e.IsDir() {
				s.below = append(s.below, name)
			}
		}
	}
	if has["HEAD"] && (has["objects"] && has["refs"] || has["commondir"]) {
		s.repos, s.below = append(s.repos, ""), nil
	}
	return s
}

// obeyed holds what git obeys in one repository: files by name below it, a single file
// under the name "".
type obeyed map[string]obeyedFile

type obeyedFile struct {
	Mode fs.FileMode
	Data []byte `json:",omitempty"`
	Link string `json:",omitempty"`
}

// readObeyed reads what git obeys in a repository: settings, hooks, where it leads, and
// operations that are to be continued. The map is nil if there is no repository.
func readObeyed(repo string) obeyed {
	var out obeyed
	_ = filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil || len(out) == maxObeyed {
			return fs.SkipDir
		}
		name := strings.TrimPrefix(strings.TrimPrefix(path, repo), "/")
		if out == nil {
			out = obeyed{}
		}
		if d.IsDir() {
			if name != "" && slices.Contains([]string{"objects", "refs", "logs", "lfs"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		hook := filepath.Base(filepath.Dir(name)) == "hooks" && !strings.HasSuffix(name, ".sample")
		if name != "" && !hook && !continued(name) && !slices.Contains([]string{"config", "config.worktree", "commondir", "hooks"}, d.Name()) {
			return nil
		}
		if info, err := d.Info(); err == nil {
			out[name] = readObeyedFile(path, info)
		}
		return nil
	})
	return out
}

func readObeyedFile(path string, info fs.FileInfo) obeyedFile {
	f := obeyedFile{Mode: info.Mode()}
	switch {
	case info.Mode().IsRegular() && info.Size() <= maxObeyedAll:
		f.Data, _ = os.ReadFile(path)
	case info.Mode()&fs.ModeSymlink != 0:
		f.Link, _ = os.Readlink(path)
	}
	return f
}

func (f obeyedFile) equal(g obeyedFile) bool {
	return f.Mode == g.Mode && f.Link == g.Link && bytes.Equal(f.Data, g.Data)
}

// nested puts back what a call has changed of the repositories in a workspace that git
// obeys, and sets aside what is new of that kind.
type nested struct {
	aside   string
	modules func(dir string) bool // reports whether a folder is a known place of a repository
	lines   []string
	errs    []error
}

// settle compares a repository with what it was; was is nil if there was none.
func (n *nested) settle(repo string, was obeyed) {
	now := readObeyed(repo)
	if now == nil {
		return // it was removed
	}
	if link, single := now[""]; single { // a file or a link, which leads elsewhere
		if old, ok := was[""]; ok && old.equal(link) || len(was) == 0 && link.Mode.IsRegular() && n.modules(pathIn(repo, "gitdir: ", filepath.Dir(repo))) {
			return
		}
		n.replace(repo, "", was, "leads git to a repository that is not known here")
		return
	}
	if _, single := was[""]; single {
		n.replace(repo, "", was, "stands where another repository was")
		return
	}
	for name, f := range now {
		if old, ok := was[name]; ok && old.equal(f) {
			continue
		}
		switch base := filepath.Base(name); {
		case base == "config" || base == "config.worktree":
			n.settleConfig(repo, name, was, f)
		case base == "commondir" && strings.TrimSpace(string(f.Data)) == "../..": // of a worktree
		case continued(name):
			if !harmlessState(name, f.Data) {
				n.replace(repo, filepath.Dir(name), nil, "holds commands that git would run")
			}
		default:
			n.replace(repo, name, was, "decides what git runs")
		}
	}
}

// settleConfig keeps of new settings those that make git run nothing.
func (n *nested) settleConfig(repo, name string, was obeyed, now obeyedFile) {
	path := filepath.Join(repo, name)
	if now.Mode.IsRegular() && now.Data != nil || now.Mode.IsRegular() && now.Mode.Perm() != 0 {
		merged, reverted, err := mergeConfig(was[name].Data, now.Data)
		if err == nil && len(reverted) == 0 {
			return
		}
		if err == nil {
			n.lines = append(n.lines, path+": what was set of "+strings.Join(reverted, ", ")+" was put back, because it decides what git runs or reads")
			n.errs = append(n.errs, replaceFile(path, merged, now.Mode))
			return
		}
	}
	n.replace(repo, name, was, "decides what git runs")
}

// replace sets aside a file or folder of a repository, and restores the one that was
// there.
func (n *nested) replace(repo, name string, was obeyed, why string) {
	path := filepath.Join(repo, name)
	aside, err := sandbox.SetAside(n.aside, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.errs = append(n.errs, err)
		return
	}
	n.lines = append(n.lines, path+" "+why+": what changed it was undone, and what was there is kept in "+aside)
	if old, ok := was[name]; ok {
		n.errs = append(n.errs, old.write(path))
	}
}

func (f obeyedFile) write(path string) error {
	if f.Link != "" {
		return os.Symlink(f.Link, path)
	}
	return errors.Join(os.WriteFile(path, f.Data, f.Mode.Perm()), os.Chmod(path, f.Mode.Perm()))
}

// continued reports whether a file of a repository holds an operation that git continues
// later: githooks(5) and git-rebase(1) name none of them, they are as git writes them.
func continued(name string) bool {
	dir := filepath.Base(filepath.Dir(name))
	return slices.Contains([]string{"rebase-merge", "rebase-apply", "sequencer"}, dir)
}

// harmlessState reports whether a file of an operation that is to be continued makes git
// run nothing but itself.
func harmlessState(name string, data []byte) bool {
	switch base := filepath.Base(name); base {
	case "git-rebase-todo", "git-rebase-todo.backup", "todo", "done":
		for line := range strings.Lines(string(data)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			word, _, _ = strings.Cut(word, "\t")
			if base != "done" && (word == "exec" || word == "x") {
				return false
			}
		}
	case "strategy":
		return slices.Contains([]string{"ort", "recursive", "resolve", "octopus", "ours", "subtree"}, strings.TrimSpace(string(data)))
	case "opts":
		return !strings.Contains(string(data), "strategy")
	}
	return true
}
