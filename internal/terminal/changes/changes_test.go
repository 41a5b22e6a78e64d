package changes

import "testing"

// TestShortTellsRequestsApart: what is printed of two requests of the same minute
// names one of them each.
func TestShortTellsRequestsApart(t *testing.T) {
	one, other := ShortID("01a20429-e69c-7d2c-86af-3667c513ade1"), ShortID("01a20429-9971-7e48-8e50-8d0b82deaf45")
	if one == other || one != "01a20429-e69c" {
		t.Errorf("they are called %s and %s", one, other)
	}
}
