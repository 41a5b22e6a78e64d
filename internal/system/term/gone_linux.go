package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// ReaderGone reports whether nobody can read what is written any more, because the reading
// end of the pipe is closed.
func (a *Answer) ReaderGone() bool {
	f, ok := a.w.(*os.File)
	if !ok {
		return false
	}
	p := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0 && p[0].Revents&unix.POLLERR != 0
}
