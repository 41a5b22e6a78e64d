package toml

import (
	"fmt"

	"fika/internal/spelling"
)

// NearestHint suggests the nearest of the right spellings, as the end of a message,
// or nothing when none is near.
func NearestHint(got string, right []string) string {
	if n := spelling.Nearest(got, right); n != "" {
		return fmt.Sprintf("; did you mean %s?", n)
	}
	return ""
}

// Quote shows a foreign text in a message, shortened.
func Quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		return fmt.Sprintf("%q…", string(r[:60]))
	}
	return fmt.Sprintf("%q", s)
}
