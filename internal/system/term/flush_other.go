//go:build !linux

package term

import "os"

// DropTyped does nothing on this platform.
func DropTyped(*os.File) {}
