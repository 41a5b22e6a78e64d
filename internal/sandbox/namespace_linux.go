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

// namespaceCommand confines path with args to p without bubblewrap: the process makes its
// own namespaces, becomes their first process, and starts the command. The command sees
// what bubblewrap would show it; making the calls directly takes half the time, because
// nobody has to read the mount table after each one.
func (s *Sandbox) namespaceCommand(p Profile, filter []byte, path string, args []string) (Command, error) {
	n := &namespaces{uid: os.Geteuid(), gid: os.Getegid(), covers: []string{"/dev"}}
	out := Command{Path: imagePath, Files: []*os.File{nil}} // the image comes first
	if p.proxied() {
		n.proxy = out.add(p.Proxy.theirs)
	}
	if p.Share != nil {
		n.share = out.add(p.Share.theirs)
	}
	if p.Join != nil {
		if joined := p.Join.files(); len(joined) > 0 {
			n.join = out.add(joined...)
		}
	}
	n.enter(p.Network)
	n.mountAll(steps(p))
	n.leaveRights(p)
	filterCalls(&n.Program, filter)
	n.Fork("a process of its own", unix.SYS_CLONE, child.Number(unix.SIGCHLD))
	n.Exec(path, append([]string{path}, args...))
	image, err := n.Open()
	if err != nil {
		out.Files = out.Files[1:]
		out.Close()
		return Command{}, fika.Wrap(fika.Failed, "sandbox", err)
	}
	out.Files[0] = image
	return out, nil
}

// add adds files that the process gets, and returns the descriptor of the first.
func (c *Command) add(files ...*os.File) int {
	at := imageDescriptor + len(c.Files)
	c.Files = append(c.Files, files...)
	return at
}

// namespaces is a program that makes namespaces.
type namespaces struct {
	child.Program
	uid, gid int
	umask    child.Word
	folder   child.Word // path of the folder in which the process was started
	covers   []string   // where something else covers the machine's own files
	own      []string   // where the machine's own files cover that again

	// The descriptors of what the process hands over and joins; 0: nothing.
	proxy, share, join int
}

// here makes a path relative to the process's folder.
func here() child.Word { return child.Number(unix.AT_FDCWD) }

// enter makes the namespaces and their first process.
func (n *namespaces) enter(network bool) {
	n.folder = n.Bytes(make([]byte, unix.PathMax))
	n.Call("folder", unix.SYS_GETCWD, n.folder, child.Number(unix.PathMax))
	n.umask = n.Call("umask", unix.SYS_UMASK, child.Number(0))
	kinds := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !network {
		kinds |= unix.CLONE_NEWNET
	}
	if n.join > 0 { // the first process there was identified in the same way
		n.Call("join the user", unix.SYS_SETNS, child.Number(n.join), child.Number(unix.CLONE_NEWUSER))
		n.Call("join the network", unix.SYS_SETNS, child.Number(n.join+1), child.Number(unix.CLONE_NEWNET))
		n.Call("namespaces", unix.SYS_UNSHARE, child.Number(kinds&^(unix.CLONE_NEWUSER|unix.CLONE_NEWNET)))
	} else {
		n.Call("namespaces", unix.SYS_UNSHARE, child.Number(kinds))
		// Root in the namespace may mount a file system of terminals; see leaveRights.
		n.identify(0, n.uid, 0, n.gid)
	}
	if n.share > 0 {
		handOverSpaces(&n.Program, n.share)
	}
	n.Fork("a first process", unix.SYS_CLONE, child.Number(unix.SIGCHLD))
	n.endWithParent()
}

// closed holds the attributes of every mount.
const closed = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// identify sets the user and group of the process in a new user namespace: the inner ids
// there map to the outer ids in the namespace where it was made.
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

// attributes returns a struct mount_attr that adds attributes, and keeps later mounts of
// the machine out of the call.
func (n *namespaces) attributes(set uint64) child.Word {
	return n.Words(child.Number(set), child.Number(0), child.Number(unix.MS_PRIVATE), child.Number(0))
}

// mountAll makes the file system of the call, in which nothing can be changed except what
// a step allows. Everything that is to be mounted elsewhere is opened first: at that
// moment it is as the machine has it, and nothing covers it yet.
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
		case newLink:
			n.makeLink(s)
		case seal:
			n.setAttributes(s.to, unix.MOUNT_ATTR_RDONLY, 0)
		}
	}
}

// tree returns a copy of what is mounted at path and below, not yet attached anywhere. A
// link is not followed, because it may have been planted to point elsewhere.
func (n *namespaces) tree(path string) child.Word {
	return n.Call("open "+path, unix.SYS_OPEN_TREE, here(), n.Text(path), child.Number(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW))
}

// attach mounts a tree and adds attributes to it.
func (n *namespaces) attach(tree child.Word, set uint64, to string, mayBeGone bool) {
	nothing := n.Text("")
	n.Call("attributes of "+to, unix.SYS_MOUNT_SETATTR, tree, nothing, child.Number(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE), n.attributes(set), child.Number(unix.MOUNT_ATTR_SIZE_VER0))
	words := []child.Word{tree, nothing, here(), n.Text(to), child.Number(unix.MOVE_MOUNT_F_EMPTY_PATH)}
	if mayBeGone { // then there is nothing to cover
		n.Try(unix.SYS_MOVE_MOUNT, words...)
	} else {
		n.Call("mount "+to, unix.SYS_MOVE_MOUNT, words...)
	}
}

// mount mounts a new file system. Only flags whose value is the same for mount(2) and
// mount_setattr(2) may be used.
func (n *namespaces) mount(kind, to string, flags uintptr, options string) {
	name := n.Text(kind)
	n.Call("mount "+to, unix.SYS_MOUNT, name, n.Text(to), name, child.Number(flags), n.Text(options))
}

func (n *namespaces) setAttributes(path string, set uint64, flags int) {
	n.Call("attributes of "+path, unix.SYS_MOUNT_SETATTR, here(), n.Text(path), child.Number(flags), n.attributes(set), child.Number(unix.MOUNT_ATTR_SIZE_VER0))
}

// makePlace makes the mount point of a step, if it lies in a folder that is not the
// machine's own. An earlier step may have made it already.
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
	if s.kind == newFolder || isFolder(s.from) {
		n.makeFolders(cover, s.to)
		return
	}
	n.makeFolders(cover, filepath.Dir(s.to))
	n.Try(unix.SYS_MKNODAT, here(), n.Text(s.to), child.Number(unix.S_IFREG|0o600), child.Number(0))
}

// makeFolders makes the folders from below root down to path that do not exist yet.
func (n *namespaces) makeFolders(root, path string) {
	at := root
	for rest := strings.TrimPrefix(path, root); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		at = filepath.Join(at, name)
		n.Try(unix.SYS_MKDIRAT, here(), n.Text(at), child.Number(0o755))
	}
}

// makeLink makes the link of a step. An earlier step may have made it already.
func (n *namespaces) makeLink(s step) {
	n.makeFolders(longest(n.covers, s.to), filepath.Dir(s.to))
	n.Try(unix.SYS_SYMLINKAT, n.Text(s.from), here(), n.Text(s.to))
}

// longest returns the innermost of the folders that contain path.
func longest(folders []string, path string) string {
	at := ""
	for _, f := range folders {
		if Within(f, path) && len(f) > len(at) {
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

// makeDevices makes a /dev with devices and terminals of its own, and a file for
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

// processes mounts a /proc that shows only the processes of the namespace.
func (n *namespaces) processes() {
	n.mount("proc", "/proc", closed|unix.MS_NOEXEC, "")
	for _, path := range machineWide {
		if _, err := os.Lstat(path); err == nil {
			n.attach(n.tree(path), closed|unix.MOUNT_ATTR_RDONLY, path, false)
		}
	}
}

// leaveRights turns the process into one of the user without any capability, in the
// folder where it began as that folder is visible now.
func (n *namespaces) leaveRights(p Profile) {
	if !p.Network && n.join == 0 {
		n.loopback()
	}
	if n.proxy > 0 {
		handOver(&n.Program, n.proxy, p.Proxy.port)
	}
	if n.uid != 0 || n.gid != 0 {
		n.Call("namespace of users", unix.SYS_UNSHARE, child.Number(unix.CLONE_NEWUSER))
		n.identify(n.uid, 0, n.gid, 0)
		n.endWithParent() // forgotten when rights change
	}
	n.Call("folder /", unix.SYS_CHDIR, n.Text("/"))
	n.Try(unix.SYS_CHDIR, n.folder) // fails for a folder that is hidden now
	n.Call("umask", unix.SYS_UMASK, n.umask)
	n.Call("close descriptors", unix.SYS_CLOSE_RANGE, child.Number(imageDescriptor), child.Number(^uint32(0)), child.Number(0))
	giveUp(&n.Program)
	none := n.Bytes(make([]byte, 24)) // struct __user_cap_data_struct, twice
	n.Call("drop capabilities", unix.SYS_CAPSET, n.Bytes(binary.NativeEndian.AppendUint64(nil, unix.LINUX_CAPABILITY_VERSION_3)), none)
	n.Call("drop capabilities", unix.SYS_PRCTL, child.Number(unix.PR_CAP_AMBIENT), child.Number(unix.PR_CAP_AMBIENT_CLEAR_ALL), child.Number(0), child.Number(0), child.Number(0))
}

// loopback switches on the one interface of the namespace; the kernel assigns its
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
