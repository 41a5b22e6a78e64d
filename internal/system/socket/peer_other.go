//go:build !linux

package socket

import "net"

// Peer returns the process at the other end of a connection, and its user; known is false if
// the system does not say.
func Peer(net.Conn) (pid, uid int, known bool) { return 0, 0, false }
