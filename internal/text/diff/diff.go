package diff

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// around is how many unchanged lines are shown before and after a change.
const around = 2

// Lines returns the differing lines, prefixed with "+" or "-", with a few unchanged
// lines around them, prefixed with " ". A line that begins with "@@" says how many
// lines were left out. The result is of no use for data that is not text (see
// [IsText]).
func Lines(before, after []byte) []string { return compare(lines(before), lines(after)) }

// IsText reports whether data can be shown as lines.
func IsText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

func lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// maxCells limits the work of comparing two texts.
const maxCells = 4 << 20

// compare returns the differing lines with some unchanged ones around them.
func compare(a, b []string) []string {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []string
	for _, l := range a[:head] {
		out = append(out, " "+l)
	}
	out = append(out, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		out = append(out, " "+l)
	}
	return onlyAround(out)
}

// middle compares by the longest common subsequence of lines; texts too long for that
// are shown as replaced.
func middle(a, b []string) []string {
	var out []string
	if len(a)*len(b) > maxCells {
		for _, l := range a {
			out = append(out, "-"+l)
		}
		for _, l := range b {
			out = append(out, "+"+l)
		}
		return out
	}
	common := make([][]int, len(a)+1) // of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, " "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return out
}

// onlyAround leaves out lines that are far from any change, and says how many.
func onlyAround(all []string) []string {
	keep := make([]bool, len(all))
	for i, l := range all {
		if l[0] != ' ' {
			for k := max(0, i-around); k <= min(len(all)-1, i+around); k++ {
				keep[k] = true
			}
		}
	}
	var out []string
	skipped := 0
	for i, l := range all {
		if !keep[i] {
			skipped++
			continue
		}
		if skipped > 0 {
			out = append(out, fmt.Sprintf("@@ %d lines as before", skipped))
		}
		skipped = 0
		out = append(out, l)
	}
	return out
}
