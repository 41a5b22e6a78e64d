//go:build !linux && !darwin

package folder

// FreeSpace returns false: the free space is not known on this platform.
func FreeSpace(string) (bytes, files int64, ok bool) { return 0, 0, false }
