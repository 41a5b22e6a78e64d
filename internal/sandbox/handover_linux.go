package sandbox

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"fika/internal/sandbox/child"
)

const closeOnExec = unix.SOCK_CLOEXEC

// The descriptors that are handed over; they are free in a process that has just begun.
const (
	listenerDescriptor = 64
	userDescriptor     = 65
	networkDescriptor  = 66
)

// handOver makes a listener at a port and sends it through the socket on a descriptor.
func handOver(p *child.Program, descriptor int, port uint16) {
	listener := child.Number(listenerDescriptor)
	fd := p.Call("proxy", unix.SYS_SOCKET, child.Number(unix.AF_INET), child.Number(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), child.Number(0))
	p.Call("proxy", unix.SYS_DUP3, fd, listener, child.Number(unix.O_CLOEXEC))
	var address bytes.Buffer // struct sockaddr_in
	address.Write(binary.NativeEndian.AppendUint16(nil, unix.AF_INET))
	address.Write(binary.BigEndian.AppendUint16(nil, port))
	address.Write([]byte{127, 0, 0, 1})
	address.Write(make([]byte, 8))
	p.Call("proxy", unix.SYS_BIND, listener, p.Bytes(address.Bytes()), child.Number(address.Len()))
	p.Call("proxy", unix.SYS_LISTEN, listener, child.Number(unix.SOMAXCONN))
	send(p, "proxy", descriptor, listenerDescriptor)
}

// handOverSpaces sends the user and the network namespace of the process through the
// socket on a descriptor.
func handOverSpaces(p *child.Program, descriptor int) {
	for i, path := range []string{"/proc/self/ns/user", "/proc/self/ns/net"} {
		fd := p.Call("open "+path, unix.SYS_OPENAT, here(), p.Text(path), child.Number(unix.O_RDONLY|unix.O_CLOEXEC))
		p.Call("open "+path, unix.SYS_DUP3, fd, child.Number(userDescriptor+i), child.Number(unix.O_CLOEXEC))
	}
	send(p, "namespaces", descriptor, userDescriptor, networkDescriptor)
}

// send sends descriptors through the socket on another one (unix(7), cmsg(3)).
func send(p *child.Program, step string, through int, descriptors ...uint32) {
	size := 4 * len(descriptors)
	one := p.Words(p.Bytes([]byte{0}), child.Number(1)) // struct iovec
	header := binary.NativeEndian.AppendUint64(nil, uint64(unix.CmsgLen(size)))
	header = binary.NativeEndian.AppendUint32(header, unix.SOL_SOCKET)
	header = binary.NativeEndian.AppendUint32(header, unix.SCM_RIGHTS)
	for _, d := range descriptors {
		header = binary.NativeEndian.AppendUint32(header, d)
	}
	header = append(header, make([]byte, unix.CmsgSpace(size)-len(header))...)
	message := p.Words(child.Number(0), child.Number(0), one, child.Number(1), p.Bytes(header), child.Number(len(header)), child.Number(0)) // struct msghdr
	p.Call(step, unix.SYS_SENDMSG, child.Number(through), message, child.Number(0))
}
