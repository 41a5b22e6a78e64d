package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// DropTyped discards input that was typed at a terminal and not read yet.
func DropTyped(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
