package process

import "testing"

// TestThreadYields: one thread is lowered, no other is.
func TestThreadYields(t *testing.T) {
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
	if got := niceness(first); got != max(usual, behind) {
		t.Errorf("the thread is at %d, was at %d", got, usual)
	}
	for _, other := range []Thread{before, after} {
		if got := niceness(other); got != usual {
			t.Errorf("another thread is at %d, was at %d", got, usual)
		}
	}
}
