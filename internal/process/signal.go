package process

import (
	"syscall"

	"fika"
)

// StopSignal is the signal that ends a hub or an agent in one of the ways there
// are. It needs no bus.
func StopSignal(how fika.Desired) syscall.Signal {
	switch how {
	case fika.DesiredFinish:
		return syscall.SIGUSR1
	case fika.DesiredNow:
		return syscall.SIGUSR2
	}
	return syscall.SIGTERM
}
