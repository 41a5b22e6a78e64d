package sandbox

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fika"
	"fika/internal/sandbox/child"
)

// namespaceCommand confines path with args to p without bubblewrap: the process
// makes its own namespaces, becomes their first process, and starts the command.
// What it sees is what bubblewrap would show it; made by the calls themselves it
// takes half the time, because nobody has to read the table of mounts after each.
func (s *Sandbox) namespaceCommand(p Profile, filter []byte, path string, args []string) (Command, error) {
	n := &namespaces{uid: os.Geteuid(), gid: os.Getegid(), covers: []string{"/dev"}}
	n.enter(p.Network)
	n.mountAll(steps(p))
	n.leaveRights(p.Network)
	filterCalls(&n.Program, filter)
	n.Fork("a process of its own", unix.SYS_CLONE, child.Number(unix.SIGCHLD))
	n.Exec(path, append([]string{path}, args...))
	image, err := n.Open()
	if err != nil {
		return Command{}, fika.Wrap(fika.Failed, "sandbox", err)
	}
	return Command{Path: imagePath, Files: []*os.File{image}}, nil
}

// namespaces is a program that makes them.
type namespaces struct {
	child.Program
	uid, gid int
	umask    child.Word
	folder   child.Word // the path of the folder that the process was started in
	covers   []string   // where something else lies upon the machine's own files
	own      []string   // and where those lie upon it again
}

// here makes a path one of the process.
func here() child.Word { return child.Number(unix.AT_FDCWD) }

// enter makes the namespaces and the first process of them.
func (n *namespaces) enter(network bool) {
	n.folder = n.Bytes(make([]byte, unix.PathMax))
	n.Call("folder", unix.SYS_GETCWD, n.folder, child.Number(unix.PathMax))
	n.umask = n.Call("umask", unix.SYS_UMASK, child.Number(0))
	kinds := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !network {
		kinds |= unix.CLONE_NEWNET
	}
	n.Call("namespaces", unix.SYS_UNSHARE, child.Number(kinds))
	// Root there may mount a file system of terminals; see leaveRights.
	n.identify(0, n.uid, 0, n.gid)
	n.Fork("a first process", unix.SYS_CLONE, child.Number(unix.SIGCHLD))
	n.endWithParent()
}

// closed is what holds of everything that is mounted.
const closed = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// identify says who the process is in a new namespace of users: inner there is outer
// where it was made.
func (n *namespaces) identify(innerUser, outerUser, innerGroup, outerGroup int) {
	for _, file := range []struct{ path, text string }{
		{"/proc/self/setgroups", "deny"},
		{"/proc/self/uid_map", strconv.Itoa(innerUser) + " " + strconv.Itoa(outerUser) + " 1"},
		{"/proc/self/gid_map", strconv.Itoa(innerGroup) + " " + strconv.Itoa(outerGroup) + " 1"},
	} {
		fd := n.Call("open "+file.path, unix.SYS_OPENAT, here(), n.Text(file.path), child.Number(unix.O_WRONLY|unix.O_CLOEXEC))
		n.Call("write "+file.path, unix.SYS_WRITE, fd, n.Text(file.text), child.Number(len(file.text)))
		n.Call("close "+file.path, unix.SYS_CLOSE, fd) // nothing that is open for writing can be made read-only
	}
}

func (n *namespaces) endWithParent() {
	n.Call("end with fika", unix.SYS_PRCTL, child.Number(unix.PR_SET_PDEATHSIG), child.Number(unix.SIGKILL))
}

// attributes is a struct mount_attr that adds some, and keeps what the machine
// mounts later out of the call.
func (n *namespaces) attributes(set uint64) child.Word {
	return n.Words(child.Number(set), child.Number(0), child.Number(unix.MS_PRIVATE), child.Number(0))
}

// mountAll makes the file system of the call, in which nothing can be changed but
// what a step says. Whatever is mounted somewhere else is opened first: it is as the
// machine has it then, and nothing lies upon it yet.
func (n *namespaces) mountAll(all []step) {
	trees := make([]child.Word, len(all))
	for i, s := range all {
		if s.kind == bindWrite || s.kind == bindRead {
			trees[i] = n.tree(s.from)
		}
	}
	devices := n.openDevices()
	n.setAttributes("/", unix.MOUNT_ATTR_RDONLY|closed, unix.AT_RECURSIVE)
	n.makeDevices(devices)
	n.processes()
	for i, s := range all {
		switch s.kind {
		case bindWrite:
			n.makePlace(s)
			n.attach(trees[i], closed, s.to, s.mayBeGone)
		case bindRead:
			n.makePlace(s)
			n.attach(trees[i], closed|unix.MOUNT_ATTR_RDONLY, s.to, s.mayBeGone)
		case newFolder:
			n.makePlace(s)
			n.mount("tmpfs", s.to, closed, "mode=755")
		case seal:
			n.setAttributes(s.to, unix.MOUNT_ATTR_RDONLY, 0)
		}
	}
}

// tree is a copy of what is mounted at path and below, which lies nowhere yet. A link
// is not followed: it may have been put there to point elsewhere.
func (n *namespaces) tree(path string) child.Word {
	return n.Call("open "+path, unix.SYS_OPEN_TREE, here(), n.Text(path), child.Number(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW))
}

// attach mounts a tree with more attributes than it has.
func (n *namespaces) attach(tree child.Word, set uint64, to string, mayBeGone bool) {
	nothing := n.Text("")
	n.Call("attributes of "+to, unix.SYS_MOUNT_SETATTR, tree, nothing, child.Number(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE), n.attributes(set), child.Number(unix.MOUNT_ATTR_SIZE_VER0))
	words := []child.Word{tree, nothing, here(), n.Text(to), child.Number(unix.MOVE_MOUNT_F_EMPTY_PATH)}
	if mayBeGone { // then nothing is to be covered
		n.Try(unix.SYS_MOVE_MOUNT, words...)
	} else {
		n.Call("mount "+to, unix.SYS_MOVE_MOUNT, words...)
	}
}

// mount mounts a new file system with attributes that are the same in both calls.
func (n *namespaces) mount(kind, to string, flags uintptr, options string) {
	name := n.Text(kind)
	n.Call("mount "+to, unix.SYS_MOUNT, name, n.Text(to), name, child.Number(flags), n.Text(options))
}

func (n *namespaces) setAttributes(path string, set uint64, flags int) {
	n.Call("attributes of "+path, unix.SYS_MOUNT_SETATTR, here(), n.Text(path), child.Number(flags), n.attributes(set), child.Number(unix.MOUNT_ATTR_SIZE_VER0))
}

// makePlace makes what a step is mounted upon, where that lies in a folder that is
// not the machine's own. It is there already if an earlier call has made it.
func (n *namespaces) makePlace(s step) {
	cover, own := longest(n.covers, s.to), longest(n.own, s.to)
	if s.from == s.to {
		n.own = append(n.own, s.to)
	} else {
		n.covers = append(n.covers, s.to)
	}
	if cover == "" || len(own) > len(cover) {
		return
	}
	at := cover
	for rest := strings.TrimPrefix(s.to, cover); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		at = filepath.Join(at, name)
		if rest == "" && s.kind != newFolder && !isFolder(s.from) {
			n.Try(unix.SYS_MKNODAT, here(), n.Text(at), child.Number(unix.S_IFREG|0o600), child.Number(0))
		} else {
			n.Try(unix.SYS_MKDIRAT, here(), n.Text(at), child.Number(0o755))
		}
	}
}

// longest is the innermost of some folders that holds a path.
func longest(folders []string, path string) string {
	at := ""
	for _, f := range folders {
		if within(f, path) && len(f) > len(at) {
			at = f
		}
	}
	return at
}

// devices are those that every program may expect.
var devices = [...]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

func (n *namespaces) openDevices() (trees []child.Word) {
	for _, path := range devices {
		trees = append(trees, n.tree(path))
	}
	return trees
}

// makeDevices makes a /dev with devices and terminals of its own, and the place of
// /dev/tty, which a step covers.
func (n *namespaces) makeDevices(trees []child.Word) {
	n.mount("tmpfs", "/dev", closed, "mode=755")
	for i, path := range append(devices[:], "/dev/tty") {
		n.Call("make "+path, unix.SYS_MKNODAT, here(), n.Text(path), child.Number(unix.S_IFREG|0o666), child.Number(0))
		if i < len(trees) {
			n.attach(trees[i], unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, path, false)
		}
	}
	for _, path := range []string{"/dev/shm", "/dev/pts"} {
		n.Call("make "+path, unix.SYS_MKDIRAT, here(), n.Text(path), child.Number(0o755))
	}
	n.mount("devpts", "/dev/pts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
	for _, link := range [][2]string{
		{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
		{"core", "/proc/kcore"}, {"ptmx", "pts/ptmx"},
	} {
		n.Call("make /dev/"+link[0], unix.SYS_SYMLINKAT, n.Text(link[1]), here(), n.Text("/dev/"+link[0]))
	}
}

// processes shows those of the namespace alone.
func (n *namespaces) processes() {
	n.mount("proc", "/proc", closed|unix.MS_NOEXEC, "")
	for _, path := range machineWide {
		if _, err := os.Lstat(path); err == nil {
			n.attach(n.tree(path), closed|unix.MOUNT_ATTR_RDONLY, path, false)
		}
	}
}

// leaveRights turns the process into one of the user's without any capability, in
// the folder where it began as it is now.
func (n *namespaces) leaveRights(network bool) {
	if !network {
		n.loopback()
	}
	if n.uid != 0 || n.gid != 0 {
		n.Call("namespace of users", unix.SYS_UNSHARE, child.Number(unix.CLONE_NEWUSER))
		n.identify(n.uid, 0, n.gid, 0)
		n.endWithParent() // forgotten when rights change
	}
	n.Call("folder /", unix.SYS_CHDIR, n.Text("/"))
	n.Try(unix.SYS_CHDIR, n.folder) // one that is hidden now cannot be entered
	n.Call("umask", unix.SYS_UMASK, n.umask)
	n.Call("close descriptors", unix.SYS_CLOSE_RANGE, child.Number(imageDescriptor), child.Number(^uint32(0)), child.Number(0))
	giveUp(&n.Program)
	none := n.Bytes(make([]byte, 24)) // struct __user_cap_data_struct, twice
	n.Call("drop capabilities", unix.SYS_CAPSET, n.Bytes(binary.NativeEndian.AppendUint64(nil, unix.LINUX_CAPABILITY_VERSION_3)), none)
	n.Call("drop capabilities", unix.SYS_PRCTL, child.Number(unix.PR_CAP_AMBIENT), child.Number(unix.PR_CAP_AMBIENT_CLEAR_ALL), child.Number(0), child.Number(0), child.Number(0))
}

// loopback switches the one interface of the namespace on; the kernel gives it its
// addresses.
func (n *namespaces) loopback() {
	var request bytes.Buffer // struct ifreq: a name in sixteen bytes, flags
	request.WriteString("lo")
	request.Write(make([]byte, unix.IFNAMSIZ-2))
	request.Write(binary.NativeEndian.AppendUint16(nil, unix.IFF_UP))
	request.Write(make([]byte, 24))
	fd := n.Call("loopback", unix.SYS_SOCKET, child.Number(unix.AF_INET), child.Number(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), child.Number(0))
	n.Call("loopback", unix.SYS_IOCTL, fd, child.Number(unix.SIOCSIFFLAGS), n.Bytes(request.Bytes()))
}
