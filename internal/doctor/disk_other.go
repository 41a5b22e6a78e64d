//go:build !linux && !darwin

package doctor

// freeBytes returns false: the free space is not known on this platform.
func freeBytes(string) (int64, bool) { return 0, false }
