//go:build unix && !linux

package process

// MakePrivate does nothing here: the platform has no such wish, or keeps processes
// apart by itself.
func MakePrivate() error { return nil }
