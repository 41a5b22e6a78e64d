package store_test

import (
	"os"
	"strconv"
	"testing"

	"fika/internal/store"
	"fika/internal/store/storetest"
)

// rounds returns how often a sweep is repeated: ROUNDS if that is set (make race),
// else few with -short (make test) and many without.
func rounds(t *testing.T, few, many int) int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		t.Logf("%d rounds of %d: -short", few, many)
		return few
	}
	return many
}

// TestRace: eight stores on one database lose nothing and do nothing twice.
func TestRace(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			opt := e.new(t)
			storetest.Race(t, func() *store.Store { return open(t, opt) }, rounds(t, 1, 4))
		})
	}
}
