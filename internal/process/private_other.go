//go:build unix && (!linux || chaos)

package process

// MakePrivate does nothing here: the platform has no such wish, or keeps processes
// apart by itself; or this is a build for the harness, which knows the processes of
// a home by their environment, also where it is not root.
func MakePrivate() error { return nil }
