package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Profile says what one call may touch. Paths are absolute; those that do not exist are
// ignored. In tier full everything that is not named can be read but not written; in tier
// landlock it cannot be read either, unless it belongs to the system.
type Profile struct {
	Workspace string              // root of the work
	ReadOnly  bool                // the workspace cannot be written either
	Writable  []string            // folders besides the workspace that can be written
	Protected []string            // inside writable folders, but not to be changed
	Fixed     []string            // like Protected, but only where the tier can; the caller looks after them where it cannot
	Opened    []string            // otherwise protected, but may be changed; [Sandbox.KeepProtected] remembers these for the caller
	Hidden    []string            // files and folders that appear empty
	Shown     []string            // inside hidden folders, but readable
	Readable  []string            // programs and caches in a person's folder; tier landlock has to be told
	Listed    []string            // folders whose names, and all below, tier landlock lists
	Temp      string              // the caller's folder that stands for /tmp
	Network   bool                // if false, only a loopback interface of its own
	User      *syscall.Credential // user of the process; nil: that of this process
	Sockets   []string            // Unix sockets that may be reached
	// Repository is the .git that has to stay what it is; empty if there is none.
	Repository string
}

// access is what a mount allows.
type access int

// From the widest to the tightest: if two meet at one path, the tighter applies.
const (
	write access = iota
	pin          // as the folder around it, but a mount point, so that it cannot be renamed
	read
	hide
)

// mount is one path with its access. The deepest mount that contains a path applies.
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
	for _, path := range slices.Concat(p.Protected, p.Fixed) {
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

// between lists the folders below one of the roots and above path: as mount points of
// their own they cannot be renamed, and so path cannot be moved with them.
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
