package schedule

import "time"

// horizon is how many days are searched: no calendar day is further away than
// February 29 across the turn of a century.
const horizon = 9 * 366

// Next returns the first time after a moment, in a zone; zero if there is none.
func (t Times) Next(after time.Time, zone *time.Location) time.Time {
	year, month, day := after.In(zone).Date()
	for i := range horizon {
		// Begin a day early: where a zone has moved across the date line, a day may
		// be missing.
		if at := t.firstOn(time.Date(year, month, day+i-1, 12, 0, 0, 0, time.UTC), after, zone); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// mostMissed bounds how many times are counted one by one.
const mostMissed = 10_000

// Missed returns the latest time that has come by now, and how many there were before
// it, at most 9,999, if due was the first one that was missed.
func (t Times) Missed(due, now time.Time, zone *time.Location) (last time.Time, before int) {
	last = due
	for before < mostMissed-1 {
		next := t.Next(last, zone)
		if next.IsZero() || next.After(now) {
			return last, before
		}
		last, before = next, before+1
	}
	// Too many were missed to count them all: search for the latest backwards from
	// now.
	for back := time.Minute; back < 400*24*time.Hour; back *= 2 {
		if at := t.Next(now.Add(-back), zone); !at.After(now) && !at.IsZero() {
			for next := at; !next.After(now) && !next.IsZero(); next = t.Next(next, zone) {
				last = next
			}
			break
		}
	}
	return last, before
}

// firstOn returns the first time after a moment on one calendar day; zero if there is
// none. date is at noon, so that its weekday is the day's.
func (t Times) firstOn(date, after time.Time, zone *time.Location) (first time.Time) {
	if !t.onDay(date) {
		return first
	}
	year, month, day := date.Date()
	if t.hour == 1<<24-1 {
		return t.firstPassing(date, after, zone)
	}
	for h := range 24 {
		for m := range 60 {
			if !t.hour.has(h) || !t.minute.has(m) {
				continue
			}
			if at := moment(year, month, day, h, m, zone); at.After(after) && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}

// onDay reports whether a calendar day matches: as in other crons, either day field
// is enough if both are restricted.
func (t Times) onDay(date time.Time) bool {
	day, weekday := t.day.has(date.Day()), t.weekday.has(int(date.Weekday()))
	switch {
	case !t.month.has(int(date.Month())):
		return false
	case t.anyDay || t.anyWeekday:
		return day && weekday
	}
	return day || weekday
}

// firstPassing is firstOn for expressions with every hour, which follow the passing
// of time and not the clock's display: an hour that comes twice has its times twice,
// one that is skipped has none.
func (t Times) firstPassing(date, after time.Time, zone *time.Location) time.Time {
	year, month, day := date.Date()
	at := moment(year, month, day, 0, 0, zone)
	if next := after.In(zone).Truncate(time.Minute).Add(time.Minute); next.After(at) {
		at = next
	}
	for ; ; at = at.Add(time.Minute) {
		switch y, m, d := at.In(zone).Date(); {
		case d != day || m != month || y != year:
			return time.Time{}
		case t.minute.has(at.In(zone).Minute()):
			return at
		}
	}
}

// moment returns when the clocks of a zone show a time: the first occasion of two, or
// the moment of the jump if they skip it.
func moment(year int, month time.Month, day, hour, minute int, zone *time.Location) time.Time {
	shown := time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
	// No zone is further from Greenwich than this, and none changes twice within a
	// day.
	_, before := shown.Add(-26 * time.Hour).In(zone).Zone()
	_, after := shown.Add(26 * time.Hour).In(zone).Zone()
	early, late := shown.Add(-time.Duration(before)*time.Second), shown.Add(-time.Duration(after)*time.Second)
	switch {
	case shows(early, shown, zone) && (!shows(late, shown, zone) || !late.Before(early)):
		return early.In(zone)
	case shows(late, shown, zone):
		return late.In(zone)
	}
	return jump(shown, zone)
}

// shows reports whether the clocks of a zone show the given time at a moment.
func shows(at, shown time.Time, zone *time.Location) bool {
	_, offset := at.In(zone).Zone()
	return at.Add(time.Duration(offset) * time.Second).Equal(shown)
}

// jump returns the moment at which clocks skip a time: the first at which they show a
// later one.
func jump(shown time.Time, zone *time.Location) time.Time {
	low, high := shown.Add(-26*time.Hour), shown.Add(26*time.Hour)
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2)
		_, offset := middle.In(zone).Zone()
		if middle.Add(time.Duration(offset) * time.Second).Before(shown) {
			low = middle
		} else {
			high = middle
		}
	}
	return high.Truncate(time.Second).In(zone)
}
