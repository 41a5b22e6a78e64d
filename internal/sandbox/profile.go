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
	Workspace string   // root of the work
	ReadOnly  bool     // the workspace cannot be written either
	Writable  []string // folders besides the workspace that can be written
	Protected []string // inside writable folders, but not to be changed
	Fixed     []string // like Protected, but only where the tier can; the caller looks after them where it cannot
	Opened    []string // otherwise protected, but may be changed; [Sandbox.KeepProtected] remembers these for the caller
	Hidden    []string // files and folders that appear empty
	// Private are folders that appear empty, too, but that the call may fill: what it
	// writes there is gone after it. Tier landlock has none: they are closed.
	Private  []string
	Cache    string   // the caller's folder that stands for .cache in a private folder
	Secrets  []string // hidden as well; inside a private folder, where only what is named exists, they are missing
	Shown    []string // inside hidden folders, but readable
	Readable []string // programs and what they need; for private folders, and for tier landlock
	Listed   []string // folders whose names, and all below, tier landlock lists
	Temp     string   // the caller's folder that stands for /tmp
	Network  bool     // if false, only a loopback interface of its own
	// Proxy gets a listener from the network of the call, in tier full without Network;
	// other calls ignore it. nil: none is made.
	Proxy *Handover
	// Share gets the namespaces of the call, and Join are those of another that it works
	// in instead of its own: see [Sandbox.CannotShare]. Both are for calls without Network.
	Share   *Handover
	Join    *Spaces
	User    *syscall.Credential // user of the process; nil: that of this process
	Sockets []string            // Unix sockets that may be reached
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
	private
	hide
)

// mount is one path with its access. The deepest mount that contains a path applies.
type mount struct {
	path   string
	access access
	only   access // needed only directly inside a mount with this access; 0: always
	unless access // not needed directly inside a mount with this access
	links  []link // on the way to path
}

// mounts turns the profile into mounts, parents first.
func (p Profile) mounts(resolve Resolver) []mount {
	var all []mount
	addOnly := func(a, only, unless access, paths ...string) {
		for _, path := range paths {
			if real, links, err := resolve.follow(path); err == nil {
				all = append(all, mount{real, a, only, unless, links})
			}
		}
	}
	add := func(a access, paths ...string) { addOnly(a, 0, 0, paths...) }
	trusted := p.trusted(resolve)
	if p.ReadOnly {
		add(read, p.Workspace)
	} else {
		add(write, p.Workspace)
	}
	add(write, p.Writable...)
	add(private, p.Private...)
	add(hide, p.Hidden...)
	addOnly(hide, 0, private, p.Secrets...)
	add(read, trusted(p.Shown)...)
	addOnly(read, private, 0, trusted(p.Readable)...)
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
	all = slices.CompactFunc(all, func(a, b mount) bool { return a.path == b.path })
	needed := all[:0]
	for _, m := range all {
		if around := innermost(needed, m.path); m.only > 0 && around != m.only || m.unless > 0 && around == m.unless {
			continue
		}
		needed = append(needed, m)
	}
	return needed
}

// innermost returns the access of the deepest of the mounts, sorted by path, that
// contains path; -1 if there is none.
func innermost(mounts []mount, path string) access {
	for i := len(mounts) - 1; i >= 0; i-- {
		if Within(mounts[i].path, path) {
			return mounts[i].access
		}
	}
	return -1
}

// trusted returns a function that leaves out paths that exist by a link in a writable
// folder: an earlier call may have planted it.
func (p Profile) trusted(resolve Resolver) func([]string) []string {
	var roots []string
	for _, root := range append([]string{p.Workspace, p.Temp}, p.Writable...) {
		if real, err := resolve.Real(root); err == nil {
			roots = append(roots, real)
		}
	}
	return func(paths []string) (out []string) {
		for _, path := range paths {
			_, links, err := resolve.follow(path)
			planted := func(l link) bool {
				return slices.ContainsFunc(roots, func(root string) bool { return Within(root, l.path) })
			}
			if err == nil && !slices.ContainsFunc(links, planted) {
				out = append(out, path)
			}
		}
		return out
	}
}

// between lists the folders below one of the roots and above path: as mount points of
// their own they cannot be renamed, and so path cannot be moved with them.
func between(roots []string, path string) []string {
	var out []string
	for _, root := range roots {
		for dir := filepath.Dir(path); len(dir) > len(root) && Within(root, dir); dir = filepath.Dir(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// Within reports whether path is root or lies below it; both are absolute and clean, and
// nothing is within "".
func Within(root, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
	return ok && root != "" && (rest == "" || rest[0] == '/')
}

// isFolder reports whether path is a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
