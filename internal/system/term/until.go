package term

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ReadUntil returns a reader of the terminal in that ends with ctx: Read then returns the
// error of ctx, even while it waits for input. If in is not a file, it is returned
// unchanged. Only one goroutine may read at a time.
func ReadUntil(ctx context.Context, in io.Reader) io.Reader {
	f, ok := in.(*os.File)
	if !ok {
		return in
	}
	return &until{File: f, err: ctx.Err, whenOver: func(f func()) { context.AfterFunc(ctx, f) }}
}

type until struct {
	*os.File
	err      func() error
	whenOver func(func())
	over     *os.File // becomes readable when ctx has ended; nil: nobody has read yet
}

// Read implements io.Reader.
func (u *until) Read(p []byte) (int, error) {
	if u.over == nil {
		over, end, err := os.Pipe()
		if err != nil {
			return u.File.Read(p)
		}
		u.over = over
		u.whenOver(func() { _ = end.Close() })
	}
	fds := []unix.PollFd{{Fd: int32(u.File.Fd()), Events: unix.POLLIN}, {Fd: int32(u.over.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case u.err() != nil:
			return 0, u.err()
		case errors.Is(err, unix.EINTR):
		default: // in is readable, or this system cannot poll a terminal
			return u.File.Read(p)
		}
	}
}
