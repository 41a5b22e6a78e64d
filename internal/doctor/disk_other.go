//go:build !linux && !darwin

package doctor

// freeSpace returns false: the free space is not known on this platform.
func freeSpace(string) (bytes, files int64, ok bool) { return 0, 0, false }
