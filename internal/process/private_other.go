//go:build unix && !linux

package process

// Private does nothing here: the platform has no such wish, or keeps processes
// apart by itself.
func Private() error { return nil }
