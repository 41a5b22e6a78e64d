//go:build !unix

package folder

import (
	"errors"
	"os"
)

var (
	errHeld    = errors.New("lock is held")
	errNoFlock = errors.New("locks are not supported on this system")
)

func flockExclusive(*os.File) error { return errNoFlock }
func flockShared(*os.File) error    { return errNoFlock }
func unflock(*os.File) error        { return errNoFlock }
func terminate(p *os.Process) error { return p.Kill() }
func writable(string) bool          { return true }
func exists(int) bool               { return true }
