package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// maxDuration bounds what a file may ask for: ten years.
const maxDuration = 10 * 365 * 24 * time.Hour

// assignDuration reads a duration: a whole number counts the unit that the
// key's name says (milliseconds for _ms, else seconds), a text says its own.
func assignDuration(p *time.Duration, v value, l limits) string {
	unit := l.unit
	if unit == 0 {
		unit = time.Second
	}
	var d time.Duration
	switch v.kind {
	case intKind:
		n, wrong := whole(v, limits{min: math.Inf(-1)})
		if wrong != "" {
			return wrong
		}
		if n > int64(maxDuration/unit) {
			return "is longer than ten years"
		}
		d = time.Duration(n) * unit
	case textKind:
		var ok bool
		if d, ok = ParseDuration(v.text); !ok {
			return "is not a duration: write " + unitName(unit) + " as a number, or a text like \"90s\", \"10m\", \"2h30m\", \"7d\""
		}
	default:
		return "must be " + unitName(unit) + " as a whole number, or a text like \"90s\"; this is " + v.kind.String()
	}
	if wrong := l.check(float64(d) / float64(unit)); wrong != "" {
		return wrong + " " + unitName(unit)
	}
	*p = d
	return ""
}

func unitName(unit time.Duration) string {
	if unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}

// ParseDuration reads what a person writes for a duration: Go's form, with d
// for days of 24 hours in front ("7d", "1d12h"). Negative ones and those
// beyond ten years are refused.
func ParseDuration(s string) (time.Duration, bool) {
	var days time.Duration
	rest := s
	if n, tail, ok := strings.Cut(s, "d"); ok {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil || math.IsNaN(f) || f < 0 || f > 3650 {
			return 0, false
		}
		days, rest = time.Duration(f*24*float64(time.Hour)), tail
		if rest == "" {
			return days, true
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > maxDuration-days {
		return 0, false
	}
	return days + d, true
}
