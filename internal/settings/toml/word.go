package toml

import (
	"fmt"

	"fika/internal/text/spelling"
)

// NearestHint suggests the nearest of the valid spellings, as the end of a message, or
// returns "" when none is near.
func NearestHint(got string, right []string) string {
	if n := spelling.Nearest(got, right); n != "" {
		return fmt.Sprintf("; did you mean %s?", n)
	}
	return ""
}

// Quote quotes a foreign text for a message, shortened.
func Quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		return fmt.Sprintf("%q…", string(r[:60]))
	}
	return fmt.Sprintf("%q", s)
}
