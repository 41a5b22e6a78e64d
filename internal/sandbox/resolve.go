package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Resolver follows links in many paths that share most of their folders, and looks at
// each folder once. It must be short-lived, and is not safe for concurrent use.
type Resolver struct{ known map[string]resolved }

type resolved struct {
	path string
	err  error
}

// NewResolver returns an empty Resolver.
func NewResolver() Resolver { return Resolver{map[string]resolved{}} }

// Real returns what [filepath.EvalSymlinks] returns for path.
func (r Resolver) Real(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return filepath.EvalSymlinks(path)
	}
	path = filepath.Clean(path)
	if at, ok := r.known[path]; ok {
		return at.path, at.err
	}
	at := r.resolvePath(path)
	r.known[path] = at
	return at.path, at.err
}

func (r Resolver) resolvePath(path string) resolved {
	if path == "/" {
		return resolved{path: path}
	}
	parent, err := r.Real(filepath.Dir(path))
	if err != nil {
		return resolved{err: err}
	}
	real := filepath.Join(parent, filepath.Base(path))
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return resolved{err: err}
	case info.Mode()&fs.ModeSymlink != 0:
		real, err = filepath.EvalSymlinks(real)
	}
	return resolved{real, err}
}
