package process

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestThreadYields: one thread is lowered, no other is.
func TestThreadYields(t *testing.T) {
	niceness := func(tid Thread) int {
		t.Helper()
		n, err := unix.Getpriority(unix.PRIO_PROCESS, int(tid))
		if err != nil {
			t.Fatal(err)
		}
		return 20 - n // as the system call tells it
	}
	held := make(chan struct{})
	defer close(held)
	own := func() Thread {
		began := make(chan Thread)
		go func() {
			began <- OwnThread()
			<-held
		}()
		return <-began
	}
	first, before := own(), own()
	usual := niceness(before)
	first.Yield()
	after := own()
	if got := niceness(first); got != lowest {
		t.Errorf("the thread is at %d, want %d", got, lowest)
	}
	for _, other := range []Thread{before, after} {
		if got := niceness(other); got != usual {
			t.Errorf("another thread is at %d, was at %d", got, usual)
		}
	}
}
