package process

import (
	"context"
	"syscall"
	"time"

	"fika"
	"fika/internal/system/sleep"
)

// StopSignal returns the signal that ends a hub or an agent in the given way. It needs no
// bus.
func StopSignal(how fika.Desired) syscall.Signal {
	switch how {
	case fika.DesiredFinish:
		return syscall.SIGUSR1
	case fika.DesiredNow:
		return syscall.SIGUSR2
	}
	return syscall.SIGTERM
}

// EndAll asks processes to end, and kills those that are still running after grace.
func EndAll(list []fika.Process, grace time.Duration) {
	for _, p := range list {
		_ = SignalAwake(p, syscall.SIGTERM)
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for _, p := range list {
		for Alive(p) && sleep.For(ctx, 10*time.Millisecond) == nil {
		}
		if Alive(p) {
			_ = Kill(p)
		}
	}
}
