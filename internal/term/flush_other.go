//go:build !linux

package term

import "os"

// DropTyped cannot be done here.
func DropTyped(*os.File) {}
