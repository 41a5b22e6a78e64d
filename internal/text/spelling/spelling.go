package spelling

import (
	"fmt"
	"strings"
)

// longest is the most bytes of a word that are compared: no name is longer, and the
// time needed grows with the product of both lengths.
const longest = 64

// Distance returns the number of bytes to insert, delete or replace, and of neighbours
// to swap, that turns a into b. A word of more than 64 bytes has the maximum distance
// to any other.
func Distance(a, b string) int {
	if a == b {
		return 0
	}
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	var rows [3][longest + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
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

// Nearest returns the candidate of which word is most probably a misspelling: at most
// a third of the candidate's bytes differ (one always may), and fewer than word has.
// Of equally near ones it returns the first, or "" if there is none. It ignores case
// and treats - like _.
func Nearest(word string, candidates []string) string {
	word = fold(word)
	best, least := "", len(word)
	for _, c := range candidates {
		if d := Distance(word, fold(c)); d <= max(1, len(c)/3) && d < least {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean returns what an error about an unknown word adds: the nearest candidate, as
// in `; did you mean "coder"?`; "" if none is near.
func DidYouMean(word string, candidates []string) string {
	near := Nearest(word, candidates)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "_")) }
