package limit

import (
	"sort"
	"time"
)

// Per is the period that a budget covers.
type Per string

// The periods of budgets.
const (
	PerHour  Per = "hour"
	PerDay   Per = "day"
	PerMonth Per = "month"
	PerTotal Per = "total"
)

// AllPeriods returns all periods, shortest first.
func AllPeriods() []Per { return []Per{PerHour, PerDay, PerMonth, PerTotal} }

// Window is the time covered by a budget. The zero Window has neither a beginning nor
// an end: it is all time.
type Window struct {
	Begins time.Time
	Ends   time.Time // exclusive
}

// Window returns the window that contains now, by the clocks and calendars of zone.
// Every moment is in exactly one window: an hour that a clock goes through twice is
// two windows, and a day is as long as it really is.
func (p Per) Window(now time.Time, zone *time.Location) Window {
	local := now.In(zone)
	y, m, d := local.Date()
	switch p {
	case PerHour:
		begins := local.Add(-time.Duration(local.Minute())*time.Minute - time.Duration(local.Second())*time.Second - time.Duration(local.Nanosecond()))
		ends := begins.Add(time.Hour)
		from, to := local.ZoneBounds() // where the clock jumps
		if !from.IsZero() && begins.Before(from) {
			begins = from
		}
		if !to.IsZero() && ends.After(to) {
			ends = to
		}
		return Window{begins, ends}
	case PerDay:
		return Window{startOfDay(y, m, d, zone), startOfDay(y, m, d+1, zone)}
	case PerMonth:
		return Window{startOfDay(y, m, 1, zone), startOfDay(y, m+1, 1, zone)}
	}
	return Window{}
}

// startOfDay returns the first second of a date. That is not always 00:00: where
// clocks jump at midnight, a day begins at 01:00.
func startOfDay(y int, m time.Month, d int, zone *time.Location) time.Time {
	noon := time.Date(y, m, d, 12, 0, 0, 0, zone) // every day has one
	y, m, d = noon.Date()
	first := noon.Add(-18 * time.Hour)
	n := sort.Search(18*3600, func(n int) bool {
		ty, tm, td := first.Add(time.Duration(n) * time.Second).Date()
		return ty > y || ty == y && (tm > m || tm == m && td >= d)
	})
	return first.Add(time.Duration(n) * time.Second)
}
