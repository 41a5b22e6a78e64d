package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Profile says what one call may touch. Paths are absolute; those that do not
// exist are left out. Whatever is not named can be read and not written in tier
// full; in tier landlock it cannot be read either, unless it is the system's.
type Profile struct {
	Workspace string              // the root of the work
	ReadOnly  bool                // the workspace cannot be written either
	Writable  []string            // folders besides the workspace that can be written
	Protected []string            // inside what is writable, and yet not to be changed
	Opened    []string            // of what is otherwise protected: may be changed, and [Sandbox.KeepProtected] remembers it for the caller
	Hidden    []string            // files and folders that seem to be empty
	Shown     []string            // inside what is hidden, and yet readable
	Readable  []string            // programs and caches in a person's folder, which tier landlock has to be told
	Listed    []string            // folders of which tier landlock shows the names, with all below
	Temp      string              // a folder of the caller's that stands for /tmp
	Network   bool                // false: no interface but a loopback of its own
	User      *syscall.Credential // whom the process runs as; nil: who starts it
	Sockets   []string            // Unix sockets that may be reached
	// Repository is the .git that has to stay what it is; empty: there is none.
	Repository string
}

// access is what a mount gives.
type access int

// From the widest to the tightest: where two meet at one path, the tighter
// holds.
const (
	write access = iota
	pin          // as the folder around it, but a mount point: it cannot be renamed
	read
	hide
)

// mount is one path with its access. The deepest that contains a path holds.
type mount struct {
	path   string
	access access
}

// mounts turns the profile into mounts, parents first.
func (p Profile) mounts(resolve Resolver) []mount {
	var all []mount
	add := func(a access, paths ...string) {
		for _, path := range paths {
			if real, err := resolve.Real(path); err == nil {
				all = append(all, mount{real, a})
			}
		}
	}
	if p.ReadOnly {
		add(read, p.Workspace)
	} else {
		add(write, p.Workspace)
	}
	add(write, p.Writable...)
	add(hide, p.Hidden...)
	add(read, p.Shown...)
	add(write, p.Sockets...)
	roots := append([]string{p.Workspace}, p.Writable...)
	for _, path := range p.Protected {
		add(read, path)
		add(pin, between(roots, path)...)
	}
	for _, path := range p.Opened {
		add(pin, between(roots, path)...)
	}
	slices.SortStableFunc(all, func(a, b mount) int {
		if n := cmp.Compare(a.path, b.path); n != 0 {
			return n
		}
		return cmp.Compare(b.access, a.access)
	})
	return slices.CompactFunc(all, func(a, b mount) bool { return a.path == b.path })
}

// between lists the folders that lie below one of the roots and above path: as
// mount points of their own they cannot be renamed, and path with them.
func between(roots []string, path string) []string {
	var out []string
	for _, root := range roots {
		for dir := filepath.Dir(path); len(dir) > len(root) && within(root, dir); dir = filepath.Dir(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// within reports whether path is root or lies below it.
func within(root, path string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && root != "" && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(root, "/"))
}

// isFolder reports whether path is a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
