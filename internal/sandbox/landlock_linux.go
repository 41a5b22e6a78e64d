package sandbox

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights, by the version of Landlock that introduced them (landlock(7),
// linux/landlock.h).
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// since version 1
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	referSince, truncateSince, networkSince, ioctlSince, scopeSince = 2, 3, 4, 5, 6
)

// landlockVersion returns the version of Landlock in this kernel, or 0 if it has none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// grants are the paths that a process may use, with everything below them.
type grants struct {
	read    []string // can be read and executed
	list    []string // names can be listed
	write   []string // can be read, executed and changed
	devices []string // files that can be read and written
	network bool     // TCP may be used
}

// ruleset creates a Landlock ruleset with which a process can restrict itself.
func (g grants) ruleset() (*os.File, error) {
	version := landlockVersion()
	if version == 0 {
		return nil, errors.New("this kernel has none")
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
	if version >= networkSince && !g.network {
		rules.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= scopeSince {
		rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a ruleset: %w", errno)
	}
	out := os.NewFile(fd, "ruleset")
	for _, grant := range []struct {
		rights uint64
		paths  []string
	}{
		{readRights, g.read}, {unix.LANDLOCK_ACCESS_FS_READ_DIR, g.list}, {all, g.write},
		{unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | all&unix.LANDLOCK_ACCESS_FS_TRUNCATE, g.devices},
	} {
		for _, path := range grant.paths {
			if err := permit(int(fd), path, grant.rights); err != nil {
				out.Close()
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return out, nil
}

// permit grants rights to path and everything below it. A link is not followed, because
// it may have been planted to point elsewhere. A path that does not exist or cannot be
// looked at needs no rights.
func permit(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
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
	default: // the kernel refuses folder rights for a file
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
