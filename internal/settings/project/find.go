package project

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is the name of the folder that makes a project.
const Folder = ".fika"

// Search says where to look for a project.
type Search struct {
	Dir  string // the folder to begin in
	Home string // the person's own folder, which bounds the search
	User string // the person's home of fika, never a project
}

// Find returns the project that a folder is in, or nil, and names the .fika folders
// that it skipped. It looks upwards as far as the root of the repository, the person's
// own folder or the end of the file system, whichever comes first.
//
// In a linked working tree, or an agent's clone, without a .fika of its own, that of the
// main working tree applies.
func Find(s Search) (p *Project, passed []string) {
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		return nil, nil
	}
	f := finder{Search: s}
	f.Home, f.User = realPath(s.Home), realPath(s.User)
	repository, found := f.climbFrom(dir)
	common, main := gitDirs(repository)
	if own, err := filepath.Match(filepath.Join(f.User, "projects", "*", "worktrees", "*"), repository); own && err == nil {
		// An agent's clone borrows the objects of the project, and says where they are.
		if objects := firstLine(filepath.Join(repository, ".git/objects/info/alternates")); filepath.Base(objects) == "objects" {
			common = filepath.Dir(objects)
			main = filepath.Dir(common)
		}
	}
	if found == "" && main != "" && main != repository {
		found = f.inMain(dir, repository, main)
	}
	if found == "" {
		return nil, f.passed
	}
	return newProject(f.User, found, repository, common, main), f.passed
}

// finder is one search.
type finder struct {
	Search
	passed []string
}

func realPath(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// climbFrom returns the root of the repository that contains dir, and the nearest
// folder on the way up that has a usable .fika; either may be "".
func (f *finder) climbFrom(dir string) (repository, found string) {
	device, ok := deviceOf(dir)
	for ok && dir != f.Home {
		if found == "" && f.isUsable(dir) {
			found = dir
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, found
		}
		up := filepath.Dir(dir)
		d, ok := deviceOf(up)
		if up == dir || !ok || d != device {
			break
		}
		dir = up
	}
	return "", found
}

// inMain looks in the main working tree for the .fika at the places that correspond to
// those between dir and the root of its own working tree.
func (f *finder) inMain(dir, repository, main string) string {
	for d := dir; ; d = filepath.Dir(d) {
		rel, err := filepath.Rel(repository, d)
		if err != nil || !filepath.IsLocal(rel) {
			return ""
		}
		if at := filepath.Join(main, rel); f.isUsable(at) {
			return at
		}
		if d == repository {
			return ""
		}
	}
}

// isUsable reports whether dir has a .fika that this user may trust. One that somebody
// else could fill is skipped and noted.
func (f *finder) isUsable(dir string) bool {
	at := filepath.Join(dir, Folder)
	info, err := os.Lstat(at)
	if err != nil || at == f.User {
		return false
	}
	why := ""
	switch owner, known := ownerOf(info); {
	case info.Mode()&fs.ModeSymlink != 0:
		why = "it is a symbolic link"
	case !info.IsDir():
		why = "it is not a folder"
	case known && owner != os.Geteuid():
		why = fmt.Sprintf("it belongs to another user (uid %d)", owner)
	case info.Mode().Perm()&0o002 != 0:
		why = fmt.Sprintf("everybody can write it: chmod o-w %s", at)
	}
	if why != "" {
		f.passed = append(f.passed, fmt.Sprintf("%s is ignored: %s", at, why))
	}
	return why == ""
}

func deviceOf(dir string) (uint64, bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, true
	}
	return uint64(st.Dev), true //nolint:unconvert // its type differs between systems
}

func ownerOf(info fs.FileInfo) (int, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// gitDirs returns the folder that all working trees of a repository share, and the
// root of the main one; "" for each that does not exist. A .git file is not believed
// if the repository that it names does not know this working tree.
func gitDirs(root string) (common, main string) {
	if root == "" {
		return "", ""
	}
	at := filepath.Join(root, ".git")
	info, err := os.Lstat(at)
	switch {
	case err != nil:
		return "", ""
	case info.IsDir():
		return realPath(at), root
	case !info.Mode().IsRegular():
		return "", ""
	}
	dir, ok := strings.CutPrefix(firstLine(at), "gitdir: ")
	if !ok {
		return "", ""
	}
	dir = realPath(joinFrom(root, dir))
	up := firstLine(filepath.Join(dir, "commondir"))
	if up == "" { // a submodule, or a repository whose .git is elsewhere
		return dir, root
	}
	back := firstLine(filepath.Join(dir, "gitdir"))
	if back == "" || realPath(joinFrom(dir, back)) != realPath(at) {
		return "", ""
	}
	common = realPath(joinFrom(dir, up))
	if filepath.Base(common) == ".git" {
		return common, filepath.Dir(common)
	}
	return common, "" // of a bare repository
}

func joinFrom(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// firstLine returns the first line of a small regular file, or "".
func firstLine(path string) string {
	data, _, err := readRegular(path, 4096)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
