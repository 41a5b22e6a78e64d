//go:build !linux

package child

import (
	"fmt"
	"os"
)

func become() {
	fmt.Fprintln(os.Stderr, "fika: commands can be confined on Linux only")
	os.Exit(126)
}

// Version is the version of Landlock in this kernel; 0: it has none.
func Version() int { return 0 }
