package storetest

import "sync"

// tally counts events by name, from many goroutines.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (t *tally) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]int{}
	}
	t.n[what]++
}

// len returns the number of different names counted.
func (t *tally) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.n)
}

// once fails the test if something happened more than once.
func (t *tally) once(r *race) {
	r.Helper()
	for what, n := range t.n {
		r.count(what, n, 1)
	}
}
