package sqlstore_test

import (
	"path/filepath"
	"testing"

	"fika/internal/store"
	"fika/internal/store/sqlstore"
	"fika/internal/store/storetest"
)

func open(t *testing.T, clock *storetest.Clock) store.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: filepath.Join(t.TempDir(), "fika.db"), Now: clock.Now})
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

func TestStore(t *testing.T) { storetest.Test(t, open) }
