package confine

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"fika/internal/sandbox"
)

// machineFolders are where the machine keeps its own secrets, and how many folders deep
// they are looked for.
var machineFolders = []struct {
	path  string
	depth int
}{{"/etc", 8}, {"/var", 3}, {"/boot", 2}}

// rootOnly finds what root can read on this machine and others cannot: password hashes,
// private keys, the files of services. A process that runs as root owns these files, so
// that it can read them without any capability. Folders that have not changed are not
// read again. It is safe for concurrent use.
type rootOnly struct {
	mu   sync.Mutex
	seen map[string]closedIn
}

// closedIn is what was found in one folder when it last changed.
type closedIn struct {
	stamp   sandbox.Stamp
	settled bool     // the folder has not changed lately: the stamp tells of any further change
	closed  []string // entries that only root can read
	folders []string // those that others can read
}

// paths lists files and folders; nothing is listed below a folder that is.
func (r *rootOnly) paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]closedIn{}
	}
	var out []string
	for _, top := range machineFolders {
		out = r.in(out, top.path, top.depth)
	}
	return out
}

func (r *rootOnly) in(out []string, dir string, depth int) []string {
	if depth == 0 {
		return out
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return out
	}
	stamp, settled := sandbox.StampOf(info)
	found := r.seen[dir]
	if !found.settled || found.stamp != stamp {
		found = lookIn(dir)
		found.stamp, found.settled = stamp, settled
		r.seen[dir] = found
	}
	out = append(out, found.closed...)
	for _, folder := range found.folders {
		out = r.in(out, folder, depth-1)
	}
	return out
}

func lookIn(dir string) (found closedIn) {
	entries, _ := os.ReadDir(dir) // root can, or the file system has nothing for it
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		path := filepath.Join(dir, e.Name())
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case ok && st.Uid == 0 && info.Mode().Perm()&0o004 == 0, ok && st.Uid == 0 && info.IsDir() && info.Mode().Perm()&0o001 == 0:
			found.closed = append(found.closed, path)
		case info.IsDir():
			found.folders = append(found.folders, path)
		}
	}
	return found
}

// hideFromRoot hides what only root can read from processes that run as root, except
// where the call works.
func (c *call) hideFromRoot(p *sandbox.Profile) {
	if user := c.agent.opts.User.Credential(); os.Geteuid() != 0 || user != nil && user.Uid != 0 {
		return
	}
	resolve := sandbox.NewResolver()
	var granted []string
	for _, root := range slices.Concat([]string{p.Workspace}, p.Writable, p.Shown) {
		if real, err := resolve.Real(root); err == nil {
			granted = append(granted, real)
		}
	}
	for _, path := range c.agent.opts.Probe.rootOnly.paths() {
		if !slices.ContainsFunc(granted, func(root string) bool { return sandbox.Within(root, path) }) {
			p.Secrets = append(p.Secrets, path)
		}
	}
}
