package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// become turns this process into the command of the spec on descriptor 3. It
// never returns.
func become() {
	runtime.LockOSThread() // the domain, the filter and exec belong to one thread
	err := confine()
	fmt.Fprintln(os.Stderr, "fika: the command was not started, because it could not be confined:", err)
	os.Exit(126)
}

func confine() error {
	data, err := readSpec()
	var s Spec
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return fmt.Errorf("read the spec: %w", err)
	}
	// Not closed here: among them are those that the runtime of Go waits on.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := restrict(s); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := applyFilter(s.Filter); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	err = syscall.Exec(s.Path, s.Args, os.Environ())
	fmt.Fprintf(os.Stderr, "fika: %s cannot be started: %v\n", s.Path, err)
	os.Exit(127)
	return err
}

// readSpec reads descriptor 3 without the runtime's poller, which would take
// longer to begin than all the rest.
func readSpec() ([]byte, error) {
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Read(3, buf)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return out, nil
		default:
			out = append(out, buf[:n]...)
		}
	}
}

// dropCapabilities empties the bounding set, so that root executes the command
// without any. Who has no capability has nothing to drop.
func dropCapabilities() error {
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		switch {
		case errors.Is(err, unix.EINVAL): // beyond the last one this kernel knows
			return nil
		case errors.Is(err, unix.EPERM):
			return nil
		case err != nil:
			return err
		}
	}
}

// What rights there are, by the version of Landlock that brought them
// (landlock(7), linux/landlock.h).
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// since version 1
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	referSince, truncateSince, networkSince, ioctlSince, scopeSince = 2, 3, 4, 5, 6
)

// Version is the version of Landlock in this kernel; 0: it has none.
func Version() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// restrict confines this thread, and whatever it becomes, to the paths of s.
func restrict(s Spec) error {
	version := Version()
	if version == 0 {
		return errors.New("this kernel has none")
	}
	all := uint64(readRights | writeRights)
	if version >= referSince {
		all |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= truncateSince {
		all |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= ioctlSince {
		all |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	rules := unix.LandlockRulesetAttr{Handled_access_fs: all}
	if version >= networkSince && !s.Network {
		rules.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= scopeSince {
		rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return fmt.Errorf("make a ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, grant := range []struct {
		rights uint64
		paths  []string
	}{
		{readRights, s.Read}, {unix.LANDLOCK_ACCESS_FS_READ_DIR, s.List}, {all, s.Write},
		{unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | all&unix.LANDLOCK_ACCESS_FS_TRUNCATE, s.Devices},
	} {
		for _, path := range grant.paths {
			if err := permit(int(fd), path, grant.rights); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

// permit gives rights to what lies at path and below. A link is not followed: it
// may have been put there to point elsewhere. What is gone needs no right.
func permit(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil
	case unix.S_IFDIR:
	default: // rights of folders are refused for a file
		rights &= unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
			unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// applyFilter puts a seccomp program in force; none at all is allowed.
func applyFilter(program []byte) error {
	if len(program) == 0 {
		return nil
	}
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	prog := unix.SockFprog{Len: uint16(len(program) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	return nil
}
