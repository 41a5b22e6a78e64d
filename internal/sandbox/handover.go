package sandbox

import (
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"fika"
)

// ProxyPort is where a process of tier full listens in its own network, if its profile has
// a [Handover]. It is above those that a kernel gives to clients.
const ProxyPort = 61080

// Handover brings something out of a confined process, which sends it here before it
// becomes the command: a listener in its network, or its namespaces. One Handover serves
// one process and one of the two.
type Handover struct {
	conn   *net.UnixConn
	theirs *os.File
	port   uint16
}

// NewHandover returns a handover, of a listener at a port of the process's loopback. The
// caller must Close it.
func NewHandover(port uint16) (*Handover, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|closeOnExec, 0)
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "sandbox", os.NewSyscallError("socketpair", err))
	}
	ours := os.NewFile(uintptr(ends[0]), "handover")
	defer ours.Close()
	h := &Handover{theirs: os.NewFile(uintptr(ends[1]), "handover"), port: port}
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
	files, err := h.receive(1)
	if err != nil {
		return nil, err
	}
	defer files[0].Close()
	return net.FileListener(files[0])
}

// Spaces waits until the process has made its namespaces, and returns them. It fails once
// the process has ended without them, or Close was called. The caller must Close them.
func (h *Handover) Spaces() (*Spaces, error) {
	files, err := h.receive(2)
	if err != nil {
		return nil, err
	}
	return &Spaces{user: files[0], network: files[1]}, nil // one message has both
}

// Spaces are the user and the network namespace of a confined process. They last until
// Close, and as long as a process is in them. They are safe for concurrent use.
type Spaces struct {
	mu            sync.Mutex
	user, network *os.File
	closed        bool
}

// Close forgets the namespaces: who would join them works in namespaces of its own. It may
// be called twice.
func (s *Spaces) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.user.Close()
	s.network.Close()
}

// files returns copies of the descriptors, for a process that joins the namespaces; none
// after Close.
func (s *Spaces) files() (out []*os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	for _, f := range []*os.File{s.user, s.network} {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			for _, o := range out {
				o.Close()
			}
			return nil
		}
		out = append(out, os.NewFile(uintptr(fd), f.Name()))
	}
	return out
}

// receive waits for so many descriptors in one message.
func (h *Handover) receive(count int) ([]*os.File, error) {
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*count))
	_, n, _, _, err := h.conn.ReadMsgUnix(data, rights)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return nil, fika.Errorf(fika.Failed, "sandbox", "the process ended before it handed anything over")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "handed over"))
	}
	return files, nil
}

// Close ends the wait. It may be called twice.
func (h *Handover) Close() {
	h.conn.Close()
	h.theirs.Close()
}
