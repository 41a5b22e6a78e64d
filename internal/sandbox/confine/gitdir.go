package confine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/repository/git"
	"fika/internal/sandbox"
)

// gitDir is what is remembered of the repository of a workspace before a call. What a
// call may change of it is an allow-list: everything else is put back.
type gitDir struct {
	Dir, Common string                   // gitrepository-layout(5): of this working tree, of all
	Head        string                   // text of HEAD
	Refs        map[string]string        // by name: an object, or "ref: NAME"
	Packed      []byte                   // packed-refs
	Entries     map[string]bool          // paths in Dir and Common
	Nested      []string                 // repositories of submodules and working trees in it
	States      obeyed                   // operations that git was to continue, in Dir
	Graphs      map[string]sandbox.Stamp `json:"-"` // nil: they are not compared
}

// readGitDir returns what is to be remembered; nil for a workspace without a repository.
func readGitDir(r repository) *gitDir {
	if r.common == "" {
		return nil
	}
	g := &gitDir{Dir: r.dir, Common: r.common, Head: readHead(r.dir), Nested: r.nested(), States: readStates(r.dir), Graphs: readGraphs(r.common)}
	g.Packed, _ = os.ReadFile(filepath.Join(r.common, "packed-refs"))
	g.Refs = readRefs(r.common)
	g.Entries = map[string]bool{}
	for _, path := range g.entries() {
		g.Entries[path] = true
	}
	return g
}

func (g *gitDir) entries() (out []string) {
	for _, dir := range slices.Compact([]string{g.Common, g.Dir}) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// readHead returns the text of HEAD, or "" if it is nothing that git writes.
func readHead(dir string) string {
	path := filepath.Join(dir, "HEAD")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := os.ReadFile(path)
	text := strings.TrimSpace(string(data))
	if branch, ok := strings.CutPrefix(text, "ref: refs/heads/"); err != nil || !isObject(text) && (!ok || branch == "" || strings.Contains(branch, "..") || strings.ContainsAny(branch, " ~^:?*[\\\x7f\n")) {
		return ""
	}
	return text
}

func isObject(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && (len(text) == 40 || len(text) == 64)
}

// readRefs returns the refs that all working trees of a repository share.
func readRefs(common string) map[string]string {
	refs := map[string]string{}
	data, _ := os.ReadFile(filepath.Join(common, "packed-refs"))
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if object, name, ok := strings.Cut(s.Text(), " "); ok && isObject(object) {
			refs[name] = object
		}
	}
	_ = filepath.WalkDir(filepath.Join(common, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		name := strings.TrimPrefix(path, common+"/")
		switch {
		case d.IsDir() && slices.Contains([]string{"refs/bisect", "refs/rewritten", "refs/worktree"}, name):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, ".lock"):
		case d.Type().IsRegular():
			text, _ := os.ReadFile(path)
			refs[name] = strings.TrimSpace(string(text))
		default: // git follows links
			link, _ := os.Readlink(path)
			refs[name] = "link: " + link
		}
		return nil
	})
	return refs
}

// readStates reads the operations that git would continue.
func readStates(dir string) obeyed {
	out := obeyed{}
	for _, state := range []string{"rebase-merge", "rebase-apply", "sequencer"} {
		entries, _ := os.ReadDir(filepath.Join(dir, state))
		for _, e := range entries {
			name := filepath.Join(state, e.Name())
			if info, err := e.Info(); err == nil && len(out) < maxObeyed {
				out[name] = readObeyedFile(filepath.Join(dir, name), info)
			}
		}
	}
	return out
}

// readGraphs returns the stamps of what git keeps beside its objects to find them faster,
// and believes.
func readGraphs(common string) map[string]sandbox.Stamp {
	out := map[string]sandbox.Stamp{}
	for _, pattern := range []string{"commit-graph", "commit-graphs", "commit-graphs/*"} {
		found, _ := filepath.Glob(filepath.Join(common, "objects/info", pattern))
		for _, path := range found {
			if info, err := os.Lstat(path); err == nil {
				out[path], _ = sandbox.StampOf(info)
			}
		}
	}
	return out
}

// free reports whether a call may make or change a file or folder of a repository, apart
// from what is looked at in it.
func free(name string) bool {
	return slices.Contains([]string{
		"index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE", "SQUASH_MSG",
		"TAG_EDITMSG", "NOTES_EDITMSG", "logs", "objects", "refs", "packed-refs", "rebase-merge", "rebase-apply", "sequencer", "rr-cache", "lfs", "gc.log", "gc.pid", "description",
		"modules", "worktrees", "config", "hooks", "info", "commondir", "gitdir", "config.worktree", "shallow", // each has a watch of its own
	}, name) || strings.HasPrefix(name, "MERGE_") || strings.HasPrefix(name, "BISECT_") || strings.HasPrefix(name, "sharedindex.") || strings.HasSuffix(name, ".lock")
}

// history remembers, for the processes of one fika, which commits of a branch are a
// person's: a call may take back what other calls have committed, but nothing else. It
// belongs to a [Probe].
type history struct {
	left  map[string]string // what a call left, by folder of the repository and ref
	floor map[string]string // the last commit there that no call has made; "": none
}

// settleGitDir puts back what a call has changed of a repository beyond the allow-list.
type settleGitDir struct {
	was     *gitDir
	agent   fika.AgentName
	aside   string
	network bool // the call could fetch
	past    history
	lines   []string
	errs    []error
}

func (s *settleGitDir) run() {
	s.settleEntries()
	s.settleStates()
	now := readHead(s.was.Dir)
	if now == "" && s.was.Head != "" {
		s.setAside(filepath.Join(s.was.Dir, "HEAD"), "is nothing that git writes")
		s.errs = append(s.errs, os.WriteFile(filepath.Join(s.was.Dir, "HEAD"), []byte(s.was.Head+"\n"), 0o644))
		now = s.was.Head
	}
	s.settleRefs(now)
}

func (s *settleGitDir) setAside(path, why string) {
	aside, err := sandbox.SetAside(s.aside, path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.errs = append(s.errs, err)
		}
		return
	}
	s.lines = append(s.lines, path+" "+why+": what changed it was undone, and what was there is kept in "+aside)
}

// settleEntries sets aside what is new and not in the list.
func (s *settleGitDir) settleEntries() {
	for _, path := range s.was.entries() {
		if !s.was.Entries[path] && !free(filepath.Base(path)) {
			s.setAside(path, "is nothing that a command may add to a repository")
		}
	}
	for _, path := range (repository{dir: s.was.Dir, common: s.was.Common}).nested() {
		if _, err := os.Lstat(path); err == nil && !slices.Contains(s.was.Nested, path) {
			s.setAside(path, "is a new repository of a submodule or a working tree, which the person has to add")
		}
	}
	for path, stamp := range readGraphs(s.was.Common) {
		if s.was.Graphs != nil && s.was.Graphs[path] != stamp {
			s.setAside(path, "is believed by git")
		}
	}
}

// settleStates sets aside operations whose continuation would run a command.
func (s *settleGitDir) settleStates() {
	now := readStates(s.was.Dir)
	for name, f := range now {
		old, ok := s.was.States[name]
		if ok && old.equal(f) || f.Mode.IsRegular() && harmlessState(name, f.Data) {
			continue
		}
		state, _, _ := strings.Cut(name, "/")
		s.setAside(filepath.Join(s.was.Dir, state), "holds commands that git would run when it continues")
		for name, old := range s.was.States {
			if dir, _, _ := strings.Cut(name, "/"); dir == state {
				path := filepath.Join(s.was.Dir, name)
				s.errs = append(s.errs, os.MkdirAll(filepath.Dir(path), 0o755), old.write(path))
			}
		}
	}
}

// settleRefs puts back refs, unless a command may change them.
func (s *settleGitDir) settleRefs(head string) {
	now, wanted := readRefs(s.was.Common), maps.Clone(s.was.Refs)
	var lost []string // names whose new value is not accepted
	for name, value := range now {
		if was := s.was.Refs[name]; was != value {
			if s.accepts(name, was, value, head) {
				wanted[name] = value
				s.past.left[s.was.Common+" "+name] = value
			} else {
				lost = append(lost, name)
			}
		}
	}
	for name, was := range s.was.Refs {
		if _, still := now[name]; !still {
			if s.accepts(name, was, "", head) {
				delete(wanted, name)
			} else {
				lost = append(lost, name)
			}
		}
	}
	if len(lost) == 0 {
		return
	}
	slices.Sort(lost)
	if packed := filepath.Join(s.was.Common, "packed-refs"); !sameFile(packed, s.was.Packed) {
		s.errs = append(s.errs, replaceOrRemove(packed, s.was.Packed))
	}
	present := readRefs(s.was.Common)
	for name := range present {
		if _, ok := wanted[name]; !ok {
			if _, err := sandbox.SetAside(s.aside, filepath.Join(s.was.Common, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.errs = append(s.errs, err)
			}
		}
	}
	for name, value := range wanted {
		if present[name] != value {
			s.errs = append(s.errs, s.writeRef(name, value))
		}
	}
	for _, name := range lost {
		s.lines = append(s.lines, s.keepLost(name, now[name]))
	}
}

// accepts reports whether a call may change a ref from was to now; "" is none.
func (s *settleGitDir) accepts(name, was, now, head string) bool {
	key := s.was.Common + " " + name
	floor, made := s.past.floor[key]
	if made && s.past.left[key] != was { // somebody else was there since
		delete(s.past.floor, key)
		floor, made = "", false
	}
	switch {
	case name == "refs/stash":
		return now == "" || isObject(now)
	case now != "" && !isObject(now):
		return false
	case strings.HasPrefix(name, "refs/remotes/"):
		return s.network && !strings.HasPrefix(name, "refs/remotes/fika/")
	case !strings.HasPrefix(name, "refs/heads/") && !strings.HasPrefix(name, "refs/tags/"):
		return false
	case was == "":
		s.past.floor[key] = ""
		return true
	case made && floor == "": // a call made it
		return true
	case now == "", strings.HasPrefix(name, "refs/tags/"):
		return false
	case "ref: "+name != head && "ref: "+name != s.was.Head:
		return false
	case !made:
		floor = was
	}
	if !descends(s.was.Common, floor, now) {
		return false
	}
	s.past.floor[key] = floor
	return true
}

// descends reports whether a commit is another one or comes after it.
func descends(dir, before, after string) bool {
	_, err := git.RunCall(context.Background(), git.Call{Dir: dir, Args: []string{"-c", "core.commitGraph=false", "merge-base", "--is-ancestor", before, after}, Env: []string{"GIT_NO_REPLACE_OBJECTS=1", "GIT_DIR=" + dir}})
	return err == nil
}

// writeRef writes a ref as a file of its own, which counts more than packed-refs.
func (s *settleGitDir) writeRef(name, value string) error {
	path := filepath.Join(s.was.Common, name)
	for dir := filepath.Dir(path); len(dir) > len(s.was.Common); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			if _, err := sandbox.SetAside(s.aside, dir); err != nil {
				return err
			}
		}
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		if _, err := sandbox.SetAside(s.aside, path); err != nil {
			return err
		}
	}
	if target, ok := strings.CutPrefix(value, "link: "); ok {
		return os.Symlink(target, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return replaceFile(path, []byte(value+"\n"), 0o644)
}

// keepLost keeps what a ref was changed to under a name of the agent's, and says so.
func (s *settleGitDir) keepLost(name, value string) string {
	line := name + " was put back"
	if !isObject(value) {
		return line
	}
	if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok && s.agent != "" {
		kept := "refs/remotes/fika/" + string(s.agent) + "/" + branch
		if _, err := git.RunCall(context.Background(), git.Call{Dir: s.was.Common, Args: []string{"update-ref", kept, value}, Env: []string{"GIT_DIR=" + s.was.Common}}); err == nil {
			return line + ", because only its own branch may be moved, and only forward; what it was changed to is kept as " + strings.TrimPrefix(kept, "refs/remotes/")
		}
	}
	return line + ": what it was changed to is " + value
}

func sameFile(path string, was []byte) bool {
	now, _ := os.ReadFile(path)
	return bytes.Equal(now, was)
}

func replaceOrRemove(path string, was []byte) error {
	if was == nil {
		return os.Remove(path)
	}
	return replaceFile(path, was, 0o644)
}
