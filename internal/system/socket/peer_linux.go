package socket

import (
	"net"

	"golang.org/x/sys/unix"
)

// Peer returns the process at the other end of a connection, and its user; known is false if
// the system does not say.
func Peer(c net.Conn) (pid, uid int, known bool) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, 0, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	var cred *unix.Ucred
	if ctl := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); ctl != nil || err != nil {
		return 0, 0, false
	}
	return int(cred.Pid), int(cred.Uid), true
}
