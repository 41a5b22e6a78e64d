package limit_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"fika/internal/rights/limit"
)

// TestWindows: every moment is in exactly one window, and windows follow one another
// without a gap, even where clocks jump by an hour or half of one, at two o'clock or
// at midnight.
func TestWindows(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu"} {
		at, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, per := range []limit.Per{limit.PerHour, limit.PerDay, limit.PerMonth} {
			w := per.Window(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), at)
			for n := 0; w.Begins.Year() < 2027; n++ {
				if !w.Begins.Before(w.Ends) || n > 9000 {
					t.Fatalf("%s a %s: %s to %s", zone, per, w.Begins, w.Ends)
				}
				middle := w.Begins.Add(w.Ends.Sub(w.Begins) / 2)
				for _, now := range []time.Time{w.Begins, middle, w.Ends.Add(-1)} {
					if got := per.Window(now, at); !got.Begins.Equal(w.Begins) || !got.Ends.Equal(w.Ends) {
						t.Fatalf("%s a %s: %s is in %s to %s, not in %s to %s", zone, per, now, got.Begins, got.Ends, w.Begins, w.Ends)
					}
				}
				if per == limit.PerDay && w.Begins.Day() == w.Ends.Day() {
					t.Fatalf("%s: the day %s ends on itself", zone, w.Begins)
				}
				w = per.Window(w.Ends, at)
			}
		}
	}
	berlin, _ := time.LoadLocation("Europe/Berlin")
	for day, hours := range map[int]float64{28: 24, 29: 23} { // summer time begins on 29 March
		if w := limit.PerDay.Window(time.Date(2026, 3, day, 12, 0, 0, 0, berlin), berlin); w.Ends.Sub(w.Begins).Hours() != hours {
			t.Errorf("%d March has %s", day, w.Ends.Sub(w.Begins))
		}
	}
}

func TestVerdict(t *testing.T) {
	a := limit.Applied{Budget: limit.Budget{Scope: "home", Per: limit.PerDay, Amount: limit.Amount{Money: 100, Tokens: 50}}}
	for _, tt := range []struct {
		spent, reserved, need limit.Amount
		refused, full         bool
	}{
		{limit.Amount{Money: 90}, limit.Amount{}, limit.Amount{Money: 10}, false, false},
		{limit.Amount{Money: 90}, limit.Amount{}, limit.Amount{Money: 11}, true, true},
		{limit.Amount{Money: 80}, limit.Amount{Money: 11}, limit.Amount{Money: 10}, true, false},
		{limit.Amount{Tokens: 49}, limit.Amount{}, limit.Amount{Tokens: 2}, true, true},
	} {
		r := a.Verdict(limit.Balance{Spent: tt.spent, Reserved: tt.reserved}, tt.need)
		if (r != nil) != tt.refused || r != nil && r.Full != tt.full {
			t.Errorf("%+v: %+v", tt, r)
		}
	}
}

func TestCrosses(t *testing.T) {
	b := limit.Budgets{List: []limit.Budget{{Scope: "home", Per: limit.PerDay, Amount: limit.Amount{Money: 1000}}}}
	var told []string
	spent := limit.Amount{}
	for range 10 {
		used := limit.Amount{Money: 100}
		spent = spent.Add(used)
		told = append(told, b.Warnings([]limit.Booked{{Scope: "home", Per: limit.PerDay, Used: used, Spent: spent}})...)
	}
	if len(told) != 1 || !strings.Contains(told[0], "$0.0008 spent") {
		t.Errorf("%q", told)
	}
}
