//go:build unix && (!linux || chaos)

package process

// MakePrivate does nothing here: the platform has no such setting, or keeps processes
// apart by itself; or this is a build for the harness, which finds the processes of a
// home by their environment, even where it is not root.
func MakePrivate() error { return nil }
