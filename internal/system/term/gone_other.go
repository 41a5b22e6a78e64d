//go:build !linux

package term

// ReaderGone reports nothing on this system: the next write fails.
func (a *Answer) ReaderGone() bool { return false }
