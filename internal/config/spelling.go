package config

import (
	"fmt"
	"strings"
)

// meant suggests the nearest of the right spellings, as the end of a message,
// or nothing when none is near.
func meant(got string, right []string) string {
	if n := nearest(got, right); n != "" {
		return fmt.Sprintf("; did you mean %s?", n)
	}
	return ""
}

// nearest gives the candidate with the fewest edits, if a typo explains them.
func nearest(got string, candidates []string) string {
	if len(got) == 0 || len(got) > 64 {
		return ""
	}
	low := strings.ToLower(strings.ReplaceAll(got, "-", "_"))
	best, bestEdits := "", 1+max(1, len(got)/3)
	for _, c := range candidates {
		if len(c) > 64 {
			continue
		}
		if n := edits(low, strings.ToLower(strings.ReplaceAll(c, "-", "_"))); n < bestEdits {
			best, bestEdits = c, n
		}
	}
	return best
}

// edits counts insertions, deletions, replacements and swaps of neighbours
// between two short texts.
func edits(a, b string) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// quote shows a foreign text in a message, shortened.
func quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		return fmt.Sprintf("%q…", string(r[:60]))
	}
	return fmt.Sprintf("%q", s)
}
