package store_test

import (
	"os"
	"strconv"
	"testing"

	"fika/internal/store"
	"fika/internal/store/storetest"
)

// rounds is how often a sweep is repeated: make check says more with
// FIKA_ROUNDS.
func rounds(t *testing.T, few int) int {
	if n, err := strconv.Atoi(os.Getenv("FIKA_ROUNDS")); err == nil {
		return n
	}
	t.Logf("%d rounds; make check runs 100 (FIKA_ROUNDS)", few)
	return few
}

// TestRace: eight stores on one database lose nothing and do nothing twice.
func TestRace(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			opt := e.new(t)
			storetest.Race(t, func() *store.Store { return open(t, opt) }, rounds(t, 2))
		})
	}
}
