package confine

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika/internal/rights/guard"
	"fika/internal/sandbox"
)

// repository is where git keeps what belongs to a folder (gitrepository-layout(5)): dot
// is the .git that git finds from there, dir the folder of the repository, common the
// folder that worktrees of one repository share. All are empty outside a repository.
type repository struct {
	dot, dir, common string
}

// maxSubmodules bounds the number of submodules and worktrees that are looked at.
const maxSubmodules = 200

// findRepository looks upwards from a folder, as git does.
func findRepository(folder string) repository {
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		dot := filepath.Join(dir, ".git")
		info, err := os.Lstat(dot)
		switch {
		case err == nil && info.IsDir() && isRepository(dot):
			return repository{dot: dot, dir: dot, common: dot}
		case err == nil && info.Mode().IsRegular():
			return linked(dot)
		}
		if dir == filepath.Dir(dir) {
			return repository{}
		}
	}
}

// linked reads a .git that is a file: that of a worktree or of a submodule. If it names a
// folder that does not name it in return, it may have been written to make another folder
// writable, so nothing is opened for it.
func linked(dot string) repository {
	r := repository{dot: dot}
	dir := pathIn(dot, "gitdir: ", filepath.Dir(dot))
	if dir == "" || !filepath.IsAbs(dir) {
		return r
	}
	back := pathIn(filepath.Join(dir, "gitdir"), "", dir)
	common := pathIn(filepath.Join(dir, "commondir"), "", dir)
	switch {
	case common != "" && same(back, dot) && isRepository(common) && sandbox.Within(common, dir):
		r.dir, r.common = dir, common
	case common == "" && isRepository(dir) && strings.Contains(dir, "/.git/modules/"):
		r.dir, r.common = dir, dir
	}
	return r
}

// pathIn reads a path from the first line of a file of at most 4096 bytes.
func pathIn(file, prefix, base string) string {
	data, err := os.ReadFile(file)
	if err != nil || len(data) > 4096 {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	path, ok := strings.CutPrefix(line, prefix)
	if !ok || path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// isRepository reports whether git would take dir for a repository.
func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// Objects returns the folders in which the repository of a folder keeps its objects: its
// own, and those that it borrows. It is empty outside of a repository.
func Objects(folder string) (out []string) {
	r := findRepository(folder)
	if r.common == "" {
		return nil
	}
	out = []string{filepath.Join(r.common, "objects")}
	for i := 0; i < len(out) && len(out) < maxSubmodules; i++ {
		text, _ := os.ReadFile(filepath.Join(out[i], "info/alternates"))
		for line := range strings.Lines(string(text)) {
			path := strings.TrimSuffix(line, "\n")
			if !filepath.IsAbs(path) {
				path = filepath.Join(out[i], path)
			}
			if path = filepath.Clean(path); isFolder(path) && !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return out
}

// outside returns the folders of the repository that a commit writes and that do not lie
// in the workspace.
func (r repository) outside(workspace string) []string {
	if r.common == "" || sandbox.Within(workspace, r.common) {
		return nil
	}
	return []string{r.common}
}

// protected returns the files of the repository that decide what git runs, whether or not
// they exist.
func (r repository) protected() []string {
	var out []string
	if r.dot != "" && r.dot != r.dir {
		out = append(out, r.dot)
	}
	seen := map[string]bool{"": true}
	for _, dir := range append([]string{r.common, r.dir}, r.nested()...) {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		for _, name := range guard.GitNames() {
			out = append(out, filepath.Join(dir, name))
		}
	}
	if r.common != "" {
		for _, name := range []string{"shallow", "objects/info/alternates", "objects/info/http-alternates"} {
			out = append(out, filepath.Join(r.common, name))
		}
	}
	for _, dir := range r.nested() {
		if dir != r.dir && sandbox.Within(filepath.Join(r.common, "worktrees"), dir) {
			out = append(out, filepath.Join(dir, "HEAD"), filepath.Join(dir, "locked"))
		}
	}
	return out
}

// fixed returns what no command has to change of the refs, and of other working trees.
// Where the tier cannot keep them, they are compared after the call.
func (r repository) fixed(network bool) []string {
	if r.common == "" {
		return nil
	}
	names := []string{"packed-refs", "refs/fika", "refs/notes", "refs/replace", "refs/remotes/fika"}
	if !network {
		names = append(names, "refs/remotes") // what a fetch writes
	}
	var out []string
	for _, name := range names {
		out = append(out, filepath.Join(r.common, name))
	}
	for _, dir := range r.nested() {
		if dir != r.dir && sandbox.Within(filepath.Join(r.common, "worktrees"), dir) {
			out = append(out, dir)
		}
	}
	return out
}

// nested returns the folders of submodules and worktrees in the repository.
func (r repository) nested() []string {
	var out []string
	for _, sub := range []string{"modules", "worktrees"} {
		root := filepath.Join(r.common, sub)
		if r.common == "" || !isFolder(root) {
			continue
		}
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fs.SkipDir
			case len(out) == maxSubmodules:
				return fs.SkipAll
			case !d.IsDir():
				return nil
			case d.Name() == "objects", d.Name() == "refs", d.Name() == "logs", d.Name() == "hooks", d.Name() == "info":
				return fs.SkipDir
			}
			if _, err := os.Lstat(filepath.Join(path, "HEAD")); err == nil {
				out = append(out, path)
			}
			return nil
		})
	}
	return out
}
