//go:build !chaos

package process

import "golang.org/x/sys/unix"

// MakePrivate keeps others of this account from reading this process: its memory,
// its environment with the keys in it, its open files; and it leaves no core.
// root still can. What it starts is not private, because it is another program.
// Who it is, and whether it runs, can be seen as before.
func MakePrivate() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
