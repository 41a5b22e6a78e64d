package store_test

import (
	"testing"

	"fika/internal/store"
	"fika/internal/store/pgtest"
	"fika/internal/store/storetest"
)

// servers is the PostgreSQL server of this test binary.
var servers pgtest.Shared

// engines give the options of a new, empty database of each kind.
var engines = []struct {
	name string
	new  func(testing.TB) store.Options
}{
	{"sqlite", func(t testing.TB) store.Options { return store.Options{Path: storetest.Fresh(t)} }},
	{"postgres", func(t testing.TB) store.Options { return store.Options{URL: servers.URL(t)} }},
}

// open opens a database until the test ends.
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

// TestPostgres runs the suite of the contract on PostgreSQL, and then looks at
// how the server would find the rows of all that it was asked.
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

// TestStore runs the suite of the contract, and then looks at how the database
// finds the rows of all that it was asked.
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

// TestRunsDoNotSlowDown: what it takes to advance a run does not grow with what is
// done in it.
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
