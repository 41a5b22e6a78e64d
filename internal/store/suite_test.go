package store_test

import (
	"testing"

	"fika/internal/store"
	"fika/internal/store/pgtest"
	"fika/internal/store/storetest"
)

// servers is the PostgreSQL server of this test binary.
var servers pgtest.Shared

// engines return the options of a new, empty database of each kind.
var engines = []struct {
	name string
	new  func(testing.TB) store.Options
}{
	{"sqlite", func(t testing.TB) store.Options { return store.Options{Path: storetest.Fresh(t)} }},
	{"postgres", func(t testing.TB) store.Options { return store.Options{URL: servers.URL(t)} }},
}

// open opens a store and closes it at the end of the test.
func open(t testing.TB, opt store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestPostgres runs the contract's suite on PostgreSQL, then checks how the server
// would find the rows for all queries that the suite made.
func TestPostgres(t *testing.T) {
	servers.URL(t)
	texts := store.NewServerTexts()
	storetest.Test(t, func(t *testing.T, clock *storetest.Clock) *store.Store {
		t.Helper()
		s := open(t, store.Options{URL: servers.URL(t), Now: clock.Now})
		texts.ListenOnServer(s)
		return s
	})
	t.Run("plans", func(t *testing.T) { texts.ServerPlans(t, store.Options{URL: servers.URL(t)}) })
}

// TestStore runs the contract's suite, then checks how the database finds the rows
// for all queries that the suite made.
func TestStore(t *testing.T) {
	texts := store.NewTexts()
	storetest.Test(t, func(t *testing.T, clock *storetest.Clock) *store.Store {
		t.Helper()
		s := open(t, store.Options{Path: storetest.Fresh(t), Now: clock.Now})
		texts.Listen(s)
		return s
	})
	t.Run("plans", texts.Plans)
}

// TestRunsDoNotSlowDown: the cost of advancing a run does not grow with the work done
// in it.
func TestRunsDoNotSlowDown(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		texts := store.NewTexts()
		s := open(t, store.Options{Path: storetest.Fresh(t)})
		texts.Listen(s)
		texts.Runs(t, s)
	})
	t.Run("postgres", func(t *testing.T) {
		s := open(t, store.Options{URL: servers.URL(t)})
		texts := store.NewServerTexts()
		texts.ListenOnServer(s)
		texts.Runs(t, s)
	})
}
