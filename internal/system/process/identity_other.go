//go:build unix && !linux

package process

import (
	"errors"
	"syscall"

	"fika"
)

func sendSignal(p fika.Process, sig syscall.Signal) error { return syscall.Kill(p.PID, sig) }

func groupLives(pgid int) bool { return !errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }

// EndMarked finds nothing: on this platform the environment of other processes cannot be
// read.
func EndMarked(string) int { return 0 }

// Ancestors always returns false: this platform does not tell.
func Ancestors(int) (list []fika.Process, known bool) { return nil, false }

func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Descendants always returns false: this platform does not tell.
func Descendants(int) (list []fika.Process, known bool) { return nil, false }

// EndTree kills exactly p and the process group it leads; processes that left the group
// are not found on this platform.
func EndTree(p fika.Process) error {
	if p.PID <= 1 || !Alive(p) {
		return nil
	}
	if group, err := syscall.Getpgid(p.PID); err == nil && group == p.PID {
		_ = SignalGroup(p.PID, syscall.SIGKILL)
	}
	return Signal(p, syscall.SIGKILL)
}

// Adopt does nothing: on this platform orphans go to the first process of the system.
func (c *Children) Adopt() error { return nil }

// EndLeft ends nothing: on this platform processes that left their group are not found.
func (c *Children) EndLeft(int) int { return 0 }
