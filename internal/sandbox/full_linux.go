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

// step is one change to what a process of tier full sees of the file system. Steps are
// made in order, so that a later one covers an earlier one.
type step struct {
	kind      stepKind
	from, to  string // from is a real path of the machine
	mayBeGone bool   // from may have disappeared meanwhile
}

type stepKind int

const (
	bindWrite stepKind = iota
	bindRead
	newFolder // empty and in memory
	newLink   // a symbolic link to from, in a newFolder
	seal      // makes a newFolder read-only once its content is complete
)

// tempFolders are shared by everybody on the machine.
var tempFolders = [...]string{"/tmp", "/var/tmp"}

// steps returns the steps for a profile. They apply to a read-only file system with
// devices and processes of its own.
func steps(p Profile) []step {
	out := []step{
		// The person's terminal still belongs to the session, and /dev/tty would open it.
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
			continue // it does not exist, or is a link to the other
		}
		if p.Temp != "" {
			out = append(out, step{kind: bindWrite, from: p.Temp, to: temp})
		} else {
			out = append(out, step{kind: newFolder, to: temp})
		}
	}
	folders := newSearcher(p.User)
	mounts := slices.DeleteFunc(p.mounts(resolve), func(m mount) bool {
		// Nothing can be mounted where that user cannot look, and nothing there can be
		// reached.
		return p.User != nil && !folders.searchable(filepath.Dir(m.path))
	})
	var sealed []step // read-only once everything below them is mounted
	for _, m := range mounts {
		out = append(out, leadingTo(m, mounts)...)
		switch {
		case m.access == private:
			out = append(out, step{kind: newFolder, to: m.path})
			if cache := filepath.Join(m.path, ".cache"); p.Cache != "" && !slices.ContainsFunc(mounts, func(m mount) bool { return Within(cache, m.path) }) {
				out = append(out, step{kind: bindWrite, from: p.Cache, to: cache})
			}
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

// leadingTo returns the steps that make the links on the way to a mount that would be
// missing, because a private folder covers them.
func leadingTo(m mount, mounts []mount) (out []step) {
	for _, l := range m.links {
		if innermost(mounts, l.path) == private {
			out = append(out, step{kind: newLink, from: l.target, to: l.path})
		}
	}
	return out
}

// machineWide lists what /proc says about the whole machine and what root could change
// there without any capability.
var machineWide = [...]string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}

// bubblewrap returns the arguments with which bwrap confines a command to p. The caller
// appends "--" and the command. The descriptor named by filter holds the seccomp program.
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
		case s.kind == newLink:
			args = append(args, "--symlink", s.from, s.to)
		case s.kind == seal:
			args = append(args, "--remount-ro", s.to)
		}
	}
	return args
}

// nameService returns the step that keeps host names resolvable when /etc/resolv.conf is
// a link into /run, which is otherwise empty.
func nameService() []step {
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil || !Within("/run", real) {
		return nil
	}
	return []step{{kind: bindRead, from: real, to: real}}
}

// reachable reports whether a socket needs no cover: because the call may use it, or
// because it does not exist for the call in any case.
func reachable(mounts []mount, path string) bool {
	if Within("/run", path) || Within("/tmp", path) || Within("/var/tmp", path) || Within("/dev", path) || Within("/proc", path) {
		return true
	}
	around := innermost(mounts, path)
	return around >= 0 && around != read
}

// searcher tells which folders processes of a user without capabilities can search. It
// looks at each folder once, so it must be short-lived.
type searcher struct {
	uid    uint32
	groups []uint32
	known  map[string]bool
}

// newSearcher returns a searcher for a user, or for this process's own user if u is nil.
func newSearcher(u *syscall.Credential) searcher {
	if u != nil {
		return searcher{u.Uid, append([]uint32{u.Gid}, u.Groups...), map[string]bool{"/": true}}
	}
	return searcher{uint32(os.Getuid()), []uint32{uint32(os.Getgid())}, map[string]bool{"/": true}}
}

// searchable reports whether the user can search dir and all folders above it. Whatever
// lies in a folder that the user cannot search is out of reach anyway, and nothing can be
// mounted there.
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

// listeningSockets returns the paths to which Unix sockets of this machine are bound, as
// /proc/net/unix lists them (proc(5)): the path is the eighth column. A read-only mount
// does not keep anybody from connecting to them.
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
