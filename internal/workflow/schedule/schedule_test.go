package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func times(t *testing.T, text string) Times {
	t.Helper()
	out, wrong := Parse(text)
	if len(wrong) > 0 {
		t.Fatalf("%s: %v", text, wrong)
	}
	return out
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// until returns the times of an expression between two moments, as local times.
func until(x Times, from, to time.Time) (list []string) {
	for at := x.Next(from, from.Location()); !at.IsZero() && at.Before(to); at = x.Next(at, from.Location()) {
		list = append(list, at.Format("02 15:04 MST"))
	}
	return list
}

// TestNext checks what crontab(5) says about its fields.
func TestNext(t *testing.T) {
	from := time.Date(2026, 1, 30, 23, 58, 30, 0, time.UTC) // a Friday
	for text, want := range map[string]string{
		"* * * * *":          "2026-01-30 23:59",
		"*/15 * * * *":       "2026-01-31 00:00",
		"5 4 * * *":          "2026-01-31 04:05",
		"0 9 * * mon-fri":    "2026-02-02 09:00",
		"0 9 * * 1-5":        "2026-02-02 09:00",
		"0 9 * * sat-sun":    "2026-01-31 09:00",
		"0 0 * * 7":          "2026-02-01 00:00",
		"0 0 * * SUN":        "2026-02-01 00:00",
		"0 0 13 * fri":       "2026-02-06 00:00", // either day is enough
		"0 0 31 * *":         "2026-01-31 00:00",
		"0 0 30 * *":         "2026-03-30 00:00",
		"0 0 29 2 *":         "2028-02-29 00:00",
		"10-50/20 3,5 * * *": "2026-01-31 03:10",
		"0 12 1 jan,jul *":   "2026-07-01 12:00",
		"30/10 0 * * *":      "2026-01-31 00:30",
		"@hourly":            "2026-01-31 00:00",
		"@weekly":            "2026-02-01 00:00",
		"@Yearly":            "2027-01-01 00:00",
	} {
		if got := times(t, text).Next(from, time.UTC).Format("2006-01-02 15:04"); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
	if got := times(t, "0 0 29 2 *").Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC), time.UTC); got.Year() != 2104 {
		t.Errorf("1900 and 2100 have no such day: %v", got)
	}
}

// TestClockChanges: on both days on which clocks are changed, a job at a given hour
// comes once, and a job of every hour or minute follows the passing of time.
func TestClockChanges(t *testing.T) {
	stockholm, lordHowe, apia := zone(t, "Europe/Stockholm"), zone(t, "Australia/Lord_Howe"), zone(t, "Pacific/Apia")
	spring := time.Date(2026, 3, 29, 0, 0, 0, 0, stockholm)  // 02:00 becomes 03:00
	autumn := time.Date(2026, 10, 25, 0, 0, 0, 0, stockholm) // 03:00 becomes 02:00
	half := time.Date(2026, 10, 4, 0, 0, 0, 0, lordHowe)     // 02:00 becomes 02:30
	for _, x := range []struct {
		text string
		from time.Time
		want string
	}{
		{"30 2 * * *", spring, "29 03:00 CEST"},
		{"30 2 * * *", autumn, "25 02:30 CEST"},
		{"0 3 * * *", spring, "29 03:00 CEST"},
		{"0 3 * * *", autumn, "25 03:00 CET"},
		{"*/20 2 * * *", spring, "29 03:00 CEST"},
		{"0 2,3 * * *", spring, "29 03:00 CEST"},
		{"0 */2 * * *", autumn, "25 02:00 CEST, 25 04:00 CET"},
		{"15 2 * * *", half, "04 02:30 +11"},
		{"0 * * * *", spring, "29 01:00 CET, 29 03:00 CEST, 29 04:00 CEST"},
		{"0 * * * *", autumn, "25 01:00 CEST, 25 02:00 CEST, 25 02:00 CET, 25 03:00 CET, 25 04:00 CET"},
	} {
		to := time.Date(x.from.Year(), x.from.Month(), x.from.Day(), 4, 1, 0, 0, x.from.Location())
		if got := strings.Join(until(times(t, x.text), x.from, to), ", "); got != x.want {
			t.Errorf("%s from %v: %s, not %s", x.text, x.from, got, x.want)
		}
	}
	for day, want := range map[time.Time]int{spring: 23 * 60, autumn: 25 * 60} {
		if got := len(until(times(t, "* * * * *"), day.Add(-time.Second), day.AddDate(0, 0, 1))); got != want {
			t.Errorf("%d minutes on %v, not %d", got, day, want)
		}
	}
	// Samoa had no December 30 in 2011.
	if got := until(times(t, "0 9 * * *"), time.Date(2011, 12, 29, 8, 0, 0, 0, apia), time.Date(2012, 1, 1, 0, 0, 0, 0, apia)); len(got) != 3 || !strings.HasPrefix(got[0], "29 09:00") || !strings.HasPrefix(got[2], "31 09:00") {
		t.Errorf("across the date line: %v", got)
	}
}

// TestOnceADay: in the zones with the strangest clocks, over years and at any hour, a
// daily time comes once a day, and always later than the last.
func TestOnceADay(t *testing.T) {
	for _, name := range []string{"Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca", "Asia/Kathmandu", "Antarctica/Troll"} {
		z := zone(t, name)
		for _, text := range []string{"0 0 * * *", "30 1 * * *", "30 2 * * *", "0 3 * * *", "59 23 * * *"} {
			x := times(t, text)
			from := time.Date(2016, 1, 1, 0, 0, 0, 0, z).Add(-time.Second)
			at, n := from, 0
			for ; ; n++ {
				next := x.Next(at, z)
				if !next.After(at) {
					t.Fatalf("%s in %s: %v after %v", text, name, next, at)
				}
				if next.Year() > 2019 {
					break
				}
				at = next
			}
			if n != 366+3*365 {
				t.Errorf("%s in %s: %d times in four years", text, name, n)
			}
		}
	}
}

// TestMissed: however long nobody looked, there is one time to catch up on, the
// latest.
func TestMissed(t *testing.T) {
	due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, x := range []struct {
		text   string
		later  time.Duration
		last   time.Duration
		before int
	}{
		{"* * * * *", 0, 0, 0},
		{"* * * * *", 59 * time.Second, 0, 0},
		{"* * * * *", 10*time.Minute + 3*time.Second, 10 * time.Minute, 10},
		{"0 0 * * *", 240 * time.Hour, 240 * time.Hour, 10},
		{"*/2 * * * *", 4030 * time.Minute, 4030 * time.Minute, 2015},
		{"* * * * *", 30 * 24 * time.Hour, 30 * 24 * time.Hour, mostMissed - 1},
	} {
		last, before := times(t, x.text).Missed(due, due.Add(x.later), time.UTC)
		if got := last.Sub(due); got != x.last || before != x.before {
			t.Errorf("%s, %v later: %v and %d before it", x.text, x.later, got, before)
		}
	}
}

// TestMistakes: all mistakes are reported at once, each with its place and a
// suggestion.
func TestMistakes(t *testing.T) {
	for text, want := range map[string][]string{
		"":                    {"0: \"\" has 0 fields"},
		"* * *":               {"0: \"* * *\" has 3 fields where five are needed"},
		"60 * * * *":          {"0: \"60\" is not a minute: it goes from 0 to 59"},
		"* 24 0 13 8":         {"2: \"24\" is not an hour", "5: \"0\" is not a day of the month", "7: \"13\" is not a month", "10: \"8\" is not a day of the week"},
		"0 9 * * mon,tuu":     {"12: \"tuu\" is not a day of the week; did you mean tue?"},
		"0 9 * * monday":      {"8: \"monday\" is not a day of the week; did you mean mon?"},
		"0 9 * juin *":        {"6: \"juin\" is not a month; did you mean jun?"},
		"0 9 * * x":           {"8: \"x\" is not a day of the week: it goes from 0 to 7, or sun to sat"},
		"0 17-9 * * *":        {"2: the range 17-9 of the hour ends before it begins: write 17-23,0-9"},
		"*/0 * * * *":         {"2: the step \"0\" of the minute"},
		"0 0 31 2 *":          {"4: \"0 0 31 2 *\" never comes"},
		"@dayly":              {"0: @dayly not found; did you mean @daily?"},
		"@reboot":             {"0: @reboot not found; known: @hourly"},
		"  0   9 * *  fribay": {"13: \"fribay\" is not a day of the week; did you mean fri?"},
		", * * * *":           {"0: \"\" is not a minute", "1: \"\" is not a minute"},
	} {
		_, wrong := Parse(text)
		var got []string
		for _, m := range wrong {
			got = append(got, fmt.Sprintf("%d: %s", m.At, m.Message))
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// FuzzParse: any text either has a mistake, at a place within it, or a next time.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"* * * * *", "0 0 29 2 *", "@daily", "*/5 1-3 * jan-mar mon,fri", "0 0 31 2 *", "a b c d e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, wrong := Parse(text)
		for _, m := range wrong {
			if m.At < 0 || m.At > len(text) || m.Message == "" {
				t.Fatalf("%q: %v", text, m)
			}
		}
		if len(wrong) == 0 && x.Next(time.Unix(1_800_000_000, 0), time.UTC).IsZero() {
			t.Fatalf("%q never comes", text)
		}
	})
}
