package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// step is one change to what a process of tier full sees of the file system. They
// are made in order, so that a later one lies upon an earlier one.
type step struct {
	kind      stepKind
	from, to  string // from is a real path of the machine
	mayBeGone bool   // from may have ended meanwhile
}

type stepKind int

const (
	bindWrite stepKind = iota
	bindRead
	newFolder // empty and in memory
	seal      // a newFolder, whose content is complete
)

// tempFolders are shared by everybody on the machine.
var tempFolders = [...]string{"/tmp", "/var/tmp"}

// steps are those of a profile, upon a file system that cannot be changed, with
// devices and processes of its own.
func steps(p Profile) []step {
	out := []step{
		// The terminal of the person is still the session's: /dev/tty would open it.
		{kind: bindRead, from: "/dev/null", to: "/dev/tty"},
		{kind: newFolder, to: "/run"},
	}
	if p.Network {
		out = append(out, nameService()...)
	}
	resolve := NewResolver()
	for i, name := range tempFolders {
		temp, err := resolve.Real(name)
		if err != nil || slices.Contains(tempFolders[:i], temp) {
			continue // there is none, or it is a link to the other
		}
		if p.Temp != "" {
			out = append(out, step{kind: bindWrite, from: p.Temp, to: temp})
		} else {
			out = append(out, step{kind: newFolder, to: temp})
		}
	}
	folders := newSearcher(p.User)
	mounts := slices.DeleteFunc(p.mounts(resolve), func(m mount) bool {
		// Nothing can be mounted where that user cannot look, and nothing there is in reach.
		return p.User != nil && !folders.searchable(filepath.Dir(m.path))
	})
	var sealed []step // read-only once everything below them is mounted
	for _, m := range mounts {
		switch {
		case m.access == write, m.access == pin:
			out = append(out, step{kind: bindWrite, from: m.path, to: m.path})
		case m.access == read:
			out = append(out, step{kind: bindRead, from: m.path, to: m.path})
		case isFolder(m.path):
			out = append(out, step{kind: newFolder, to: m.path})
			sealed = append(sealed, step{kind: seal, to: m.path})
		default:
			out = append(out, step{kind: bindRead, from: "/dev/null", to: m.path})
		}
	}
	for _, path := range listeningSockets(resolve, folders) {
		if !reachable(mounts, path) {
			out = append(out, step{kind: bindRead, from: "/dev/null", to: path, mayBeGone: true})
		}
	}
	return append(out, sealed...)
}

// machineWide is what says something about the whole machine in /proc, and which
// root could change there without any capability.
var machineWide = [...]string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}

// bubblewrap gives the arguments with which bwrap confines a command to p. The
// command's own words follow after "--". Descriptor filter holds the seccomp
// program.
func bubblewrap(p Profile, filter string) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
		"--cap-drop", "ALL", "--seccomp", filter,
		"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
	}
	for _, path := range machineWide {
		args = append(args, "--ro-bind-try", path, path)
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	for _, s := range steps(p) {
		switch {
		case s.kind == bindWrite:
			args = append(args, "--bind", s.from, s.to)
		case s.kind == bindRead && s.mayBeGone:
			args = append(args, "--ro-bind-try", s.from, s.to)
		case s.kind == bindRead:
			args = append(args, "--ro-bind", s.from, s.to)
		case s.kind == newFolder:
			args = append(args, "--tmpfs", s.to)
		case s.kind == seal:
			args = append(args, "--remount-ro", s.to)
		}
	}
	return args
}

// nameService keeps what finds hosts by name when the configuration of it is a
// link into /run, which is empty otherwise.
func nameService() []step {
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil || !within("/run", real) {
		return nil
	}
	return []step{{kind: bindRead, from: real, to: real}}
}

// reachable reports whether a socket is the call's own business, or not there
// for it in any case.
func reachable(mounts []mount, path string) bool {
	if within("/run", path) || within("/tmp", path) || within("/var/tmp", path) || within("/dev", path) || within("/proc", path) {
		return true
	}
	for i := len(mounts) - 1; i >= 0; i-- {
		if m := mounts[i]; within(m.path, path) {
			return m.access != read
		}
	}
	return false
}

// searcher tells where processes of a user without capabilities can look. It is
// for one moment: it looks at each folder once.
type searcher struct {
	uid    uint32
	groups []uint32
	known  map[string]bool
}

// newSearcher is of a user; nil: of who asks.
func newSearcher(u *syscall.Credential) searcher {
	if u != nil {
		return searcher{u.Uid, append([]uint32{u.Gid}, u.Groups...), map[string]bool{"/": true}}
	}
	return searcher{uint32(os.Getuid()), []uint32{uint32(os.Getgid())}, map[string]bool{"/": true}}
}

// searchable reports whether one can look into a folder. What lies in one that
// it cannot is out of reach by itself, and nothing can be mounted there.
func (s searcher) searchable(dir string) bool {
	ok, looked := s.known[dir]
	if !looked {
		ok = s.maySearch(dir) && s.searchable(filepath.Dir(dir))
		s.known[dir] = ok
	}
	return ok
}

func (s searcher) maySearch(dir string) bool {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return false
	}
	needed := uint32(0o001)
	switch {
	case st.Uid == s.uid:
		needed = 0o100
	case slices.Contains(s.groups, st.Gid):
		needed = 0o010
	}
	return st.Mode&needed != 0
}

// listeningSockets are the paths of the Unix sockets of this machine that are
// bound to one, as /proc/net/unix lists them (proc(5)): the path is the eighth
// column. A read-only mount does not keep anybody from connecting.
func listeningSockets(resolve Resolver, folders searcher) []string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	seen := map[string]bool{}
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		i := strings.Index(s.Text(), " /")
		if i < 0 || seen[s.Text()[i+1:]] {
			continue
		}
		seen[s.Text()[i+1:]] = true
		path, err := resolve.Real(s.Text()[i+1:])
		if err == nil && !slices.Contains(out, path) && folders.searchable(filepath.Dir(path)) {
			out = append(out, path)
		}
	}
	return out
}
