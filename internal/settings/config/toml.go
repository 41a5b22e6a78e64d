package config

import (
	"math"
	"time"

	"fika/internal/settings/toml"
)

// The tree of a file, and problems found in it.
type (
	value = toml.Value
	table = toml.Table
	entry = toml.Entry

	// Place is a position in a file.
	Place = toml.Place
	// Problem is one thing wrong in a file.
	Problem = toml.Problem
	// Problems is the error of files that cannot be used as they are: everything that
	// is wrong with them, in the order of the files. It classifies as [fika.Invalid].
	Problems = toml.Problems
)

// ParseDuration parses a duration as a person writes it; see [toml.ParseDuration].
func ParseDuration(s string) (time.Duration, bool) { return toml.ParseDuration(s) }

// assignValue stores a scalar or a list of texts. It returns what is wrong, as the end
// of a sentence that begins with the key.
func assignValue(at any, v value, l toml.Limits) string {
	if p, ok := at.(*Bytes); ok {
		return assignBytes(p, v, l)
	}
	p, ok := at.(*MicroDollars)
	if !ok {
		return toml.Assign(at, v, l)
	}
	var dollars float64
	wrong := toml.Assign(&dollars, v, l)
	if wrong == "" {
		*p = MicroDollars(math.Round(dollars * 1e6))
	}
	return wrong
}
