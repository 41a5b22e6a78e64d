package spelling

import "strings"

// longest is how many bytes of a word are looked at closely: no name is
// longer, and the time needed is the product of both lengths.
const longest = 64

// Distance counts the bytes to insert, delete or replace, and the neighbours
// to swap, until a is b. Words of more than 64 bytes are as far from others as
// can be.
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

// Nearest gives the candidate that word is most probably a misspelling of: at
// most a third of its bytes are wrong (one always may be), and not all of
// word. The first of equals; "" if there is none. Case does not count, and -
// is as good as _.
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

func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "_")) }
