package project

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Change is how one file differs between two trees.
type Change struct {
	Path   string
	What   string   // "new", "removed", "changed", "now executable", "no longer executable"
	Lines  []string // "+…", "-…" and " …" for what is around them; nil for what is no text
	Bytes  int      // of the file afterwards
	Binary bool
}

// around is how many lines are shown before and after what has changed.
const around = 2

// Diff lists what is different in after, by path.
func Diff(before, after Tree) []Change {
	var out []Change
	for _, f := range after.Files {
		b := before.Get(f.Path)
		switch {
		case b == nil:
			out = append(out, change(f.Path, "new", nil, f.Data))
		case !bytes.Equal(b.Data, f.Data):
			out = append(out, change(f.Path, "changed", b.Data, f.Data))
		}
		if was := b != nil && b.Exec; was != f.Exec {
			what := "now executable"
			if was {
				what = "no longer executable"
			}
			out = append(out, Change{Path: f.Path, What: what, Bytes: len(f.Data)})
		}
	}
	for _, b := range before.Files {
		if after.Get(b.Path) == nil {
			out = append(out, change(b.Path, "removed", b.Data, nil))
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func change(path, what string, before, after []byte) Change {
	c := Change{Path: path, What: what, Bytes: len(after)}
	if c.Binary = !isText(before) || !isText(after); !c.Binary {
		c.Lines = diffLines(lines(before), lines(after))
	}
	return c
}

func isText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

func lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// maxCells bounds the work of comparing two texts.
const maxCells = 4 << 20

// diffLines gives the lines that differ, with some around them.
func diffLines(a, b []string) []string {
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
	out = append(out, diffMiddle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		out = append(out, " "+l)
	}
	return onlyAround(out)
}

// diffMiddle compares by the longest common run of lines; texts too long for that
// are shown as replaced.
func diffMiddle(a, b []string) []string {
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

// onlyAround leaves out what is far from any change, and says how much.
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
