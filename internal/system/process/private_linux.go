//go:build !chaos

package process

import "golang.org/x/sys/unix"

// MakePrivate keeps other processes of this account from reading this one: its memory,
// its environment with the keys in it, its open files; it also leaves no core dump. root
// can still read it. The programs it starts are not private. Its identity and state can
// be seen as before.
func MakePrivate() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
