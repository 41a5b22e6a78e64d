package toml

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// maxDuration is the longest duration that a file may ask for: ten years.
const maxDuration = 10 * 365 * 24 * time.Hour

// assignDuration reads a duration: a whole number counts units that the key's name
// implies (milliseconds for _ms, else seconds), a text names its own units.
func assignDuration(p *time.Duration, v Value, l Limits) string {
	unit := l.Unit
	if unit == 0 {
		unit = time.Second
	}
	var d time.Duration
	switch v.Kind {
	case KindInt:
		n, wrong := readWhole(v, Limits{Min: math.Inf(-1)})
		if wrong != "" {
			return wrong
		}
		if n > int64(maxDuration/unit) {
			return "is longer than ten years"
		}
		d = time.Duration(n) * unit
	case KindText:
		var ok bool
		if d, ok = ParseDuration(v.Text); !ok {
			return "is not a duration: write " + UnitName(unit) + " as a number, or a text like \"90s\", \"10m\", \"2h30m\", \"7d\""
		}
	default:
		return "must be " + UnitName(unit) + " as a whole number, or a text like \"90s\"; this is " + v.Kind.String()
	}
	if wrong := l.checkRange(float64(d) / float64(unit)); wrong != "" {
		return wrong + " " + UnitName(unit)
	}
	*p = d
	return ""
}

// UnitName names the unit of a duration that is written as a number.
func UnitName(unit time.Duration) string {
	if unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}

// ParseDuration parses a duration as a person writes it: Go's form, with d for days of
// 24 hours in front ("7d", "1d12h"). It refuses negative durations and those beyond
// ten years.
func ParseDuration(s string) (time.Duration, bool) {
	var days time.Duration
	rest := s
	for _, unit := range []struct {
		name string
		days float64
	}{{"y", 365}, {"d", 1}} {
		n, tail, ok := strings.Cut(rest, unit.name)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(n, 64)
		if err != nil || math.IsNaN(f) || f < 0 || f*unit.days > 3650 {
			return 0, false
		}
		days, rest = days+time.Duration(f*unit.days*24*float64(time.Hour)), tail
		if rest == "" {
			return days, days <= maxDuration
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > maxDuration-days {
		return 0, false
	}
	return days + d, true
}
