package store_test

import (
	"testing"

	"fika/internal/store"
	"fika/internal/store/storetest"
)

// TestStore runs the suite of the contract, and then looks at how the database
// finds the rows of all that it was asked.
func TestStore(t *testing.T) {
	texts := store.NewTexts()
	storetest.Test(t, func(t *testing.T, clock *storetest.Clock) *store.Store {
		t.Helper()
		s, err := store.Open(t.Context(), store.Options{Path: storetest.Fresh(t), Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		texts.Listen(s)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
	t.Run("plans", texts.Plans)
}
