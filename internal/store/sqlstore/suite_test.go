package sqlstore

import (
	"path/filepath"
	"testing"

	"fika/internal/store"
	"fika/internal/store/storetest"
)

// TestStore runs the suite of the contract, and then looks at how the database
// finds the rows of all that it was asked.
func TestStore(t *testing.T) {
	d := &texts{dialect: sqliteDialect{}, all: map[string]bool{}}
	storetest.Test(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		t.Helper()
		s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "fika.db"), Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		s.d, s.w.d, s.r.d = d, d, d
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
	t.Run("plans", func(t *testing.T) { plans(t, d) })
}
