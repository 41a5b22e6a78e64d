//go:build !linux && !darwin

package folder

import "io/fs"

// FreeSpace returns false: the free space is not known on this platform.
func FreeSpace(string) (bytes, files int64, ok bool) { return 0, 0, false }

// fileNumber returns nothing: it is not known on this platform.
func fileNumber(fs.FileInfo) string { return "" }
