package sandbox

import (
	"net"
	"os"

	"golang.org/x/sys/unix"

	"fika"
)

// ProxyAddress is where a process of tier full listens in its own network, if its profile
// has a [Handover]. The port is above those that a kernel gives to clients.
const ProxyAddress = "127.0.0.1:61080"

const proxyPort = 61080

// Handover brings a listener out of the network of a confined process: the process makes
// it before it becomes the command, and sends it here. One Handover serves one process.
type Handover struct {
	conn   *net.UnixConn
	theirs *os.File
}

// NewHandover returns a handover. The caller must Close it.
func NewHandover() (*Handover, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|closeOnExec, 0)
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "sandbox", os.NewSyscallError("socketpair", err))
	}
	ours := os.NewFile(uintptr(ends[0]), "handover")
	defer ours.Close()
	h := &Handover{theirs: os.NewFile(uintptr(ends[1]), "handover")}
	conn, err := net.FileConn(ours)
	if err != nil {
		h.theirs.Close()
		return nil, fika.Wrap(fika.Failed, "sandbox", err)
	}
	h.conn = conn.(*net.UnixConn) // what a socket of that family is
	return h, nil
}

// Listener waits until the process has made its listener, and returns it. It fails once
// the process has ended without one, or Close was called.
func (h *Handover) Listener() (net.Listener, error) {
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := h.conn.ReadMsgUnix(data, rights)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return nil, fika.Errorf(fika.Failed, "sandbox", "the process ended before it listened")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	return net.FileListener(f)
}

// Close ends the wait for a listener. It may be called twice.
func (h *Handover) Close() {
	h.conn.Close()
	h.theirs.Close()
}
