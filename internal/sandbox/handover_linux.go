package sandbox

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"fika/internal/sandbox/child"
)

const closeOnExec = unix.SOCK_CLOEXEC

// listenerDescriptor is free in a process that has just begun.
const listenerDescriptor = 64

// handOver makes a listener at [ProxyAddress] and sends it through the socket on a
// descriptor (unix(7), cmsg(3)).
func handOver(p *child.Program, descriptor int) {
	listener := child.Number(listenerDescriptor)
	fd := p.Call("proxy", unix.SYS_SOCKET, child.Number(unix.AF_INET), child.Number(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), child.Number(0))
	p.Call("proxy", unix.SYS_DUP3, fd, listener, child.Number(unix.O_CLOEXEC))
	var address bytes.Buffer // struct sockaddr_in
	address.Write(binary.NativeEndian.AppendUint16(nil, unix.AF_INET))
	address.Write(binary.BigEndian.AppendUint16(nil, proxyPort))
	address.Write([]byte{127, 0, 0, 1})
	address.Write(make([]byte, 8))
	p.Call("proxy", unix.SYS_BIND, listener, p.Bytes(address.Bytes()), child.Number(address.Len()))
	p.Call("proxy", unix.SYS_LISTEN, listener, child.Number(unix.SOMAXCONN))
	one := p.Words(p.Bytes([]byte{0}), child.Number(1)) // struct iovec
	header := binary.NativeEndian.AppendUint64(nil, uint64(unix.CmsgLen(4)))
	header = binary.NativeEndian.AppendUint32(header, unix.SOL_SOCKET)
	header = binary.NativeEndian.AppendUint32(header, unix.SCM_RIGHTS)
	header = binary.NativeEndian.AppendUint32(header, listenerDescriptor)
	header = append(header, make([]byte, unix.CmsgSpace(4)-len(header))...)
	message := p.Words(child.Number(0), child.Number(0), one, child.Number(1), p.Bytes(header), child.Number(len(header)), child.Number(0)) // struct msghdr
	p.Call("proxy", unix.SYS_SENDMSG, child.Number(descriptor), message, child.Number(0))
}
