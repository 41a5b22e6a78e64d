package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Resolver follows links in many paths that share most of their folders, and looks at
// each folder once. It must be short-lived, and is not safe for concurrent use.
type Resolver struct{ known map[string]resolved }

type resolved struct {
	path  string
	links []link // all that were followed
	err   error
}

// link is a symbolic link: its path, without links in it, and what it holds.
type link struct{ path, target string }

// NewResolver returns an empty Resolver.
func NewResolver() Resolver { return Resolver{map[string]resolved{}} }

// Real returns what [filepath.EvalSymlinks] returns for path.
func (r Resolver) Real(path string) (string, error) {
	real, _, err := r.follow(path)
	return real, err
}

// follow also returns the links that lead from an absolute path to the real one.
func (r Resolver) follow(path string) (string, []link, error) {
	if !filepath.IsAbs(path) {
		real, err := filepath.EvalSymlinks(path)
		return real, nil, err
	}
	path = filepath.Clean(path)
	at, ok := r.known[path]
	if !ok {
		at = r.resolvePath(path)
		r.known[path] = at
	}
	return at.path, at.links, at.err
}

func (r Resolver) resolvePath(path string) resolved {
	if path == "/" {
		return resolved{path: path}
	}
	parent, links, err := r.follow(filepath.Dir(path))
	if err != nil {
		return resolved{err: err}
	}
	real := filepath.Join(parent, filepath.Base(path))
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return resolved{err: err}
	case info.Mode()&fs.ModeSymlink != 0:
		return r.throughLink(parent, real, links)
	}
	return resolved{path: real, links: links}
}

// throughLink resolves the link at path, in the folder parent. Links are followed here
// once EvalSymlinks has found no circle.
func (r Resolver) throughLink(parent, path string, links []link) resolved {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return resolved{err: err}
	}
	target, err := os.Readlink(path)
	if err != nil {
		return resolved{err: err}
	}
	links = append(slices.Clip(links), link{path, target})
	if !filepath.IsAbs(target) {
		target = filepath.Join(parent, target)
	}
	if _, more, err := r.follow(target); err == nil {
		links = append(links, more...)
	}
	return resolved{path: real, links: links}
}
