package cli

import "strings"

// nearest gives the candidate that word most probably means: the one with the
// fewest edits, at most a third of its length (and at least one); "" if none.
func nearest(word string, candidates []string) string {
	best, distance := "", len(word)
	for _, c := range candidates {
		d := edits(strings.ToLower(word), c)
		if d <= max(1, len(c)/3) && d < distance {
			best, distance = c, d
		}
	}
	return best
}

// edits counts insertions, deletions, replacements and swaps of neighbours
// between a and b.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b)
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
