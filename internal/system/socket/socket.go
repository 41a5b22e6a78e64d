package socket

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// maxPath is how long the path of a Unix socket may be everywhere, in bytes.
const maxPath = 100

// Listen makes a Unix socket. A path that is too long for one goes through its
// folder. Closing it leaves the file.
func Listen(path string) (net.Listener, error) {
	at, done, err := shortened(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.Listen("unix", at)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // at may be gone by then
	return l, nil
}

// Dial connects to a Unix socket.
func Dial(path string) (net.Conn, error) {
	at, done, err := shortened(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.Dial("unix", at)
}

// shortened returns a path to the same file that is short enough, until done is called.
func shortened(path string) (at string, done func(), err error) {
	if len(path) <= maxPath || runtime.GOOS != "linux" {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
