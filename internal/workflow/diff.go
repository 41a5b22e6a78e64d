package workflow

import (
	"maps"
	"slices"
	"strings"
)

// Diff returns, line by line, how the texts of two definitions differ, including
// those of nested workflows: removed lines begin with "- ", new ones with "+ ", and
// each file that differs with its name. It returns nothing if they are the same.
func Diff(before, now *Definition) []string {
	var out []string
	texts := func(d *Definition) map[string]string {
		all := map[string]string{d.Name: d.Source}
		for name, n := range d.Nested {
			all[name] = n.Source
		}
		return all
	}
	old, new := texts(before), texts(now)
	names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(new))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if old[name] != new[name] {
			out = append(out, "# "+name)
			out = append(out, diffLines(lines(old[name]), lines(new[name]))...)
		}
	}
	return out
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// maxDiff bounds how many lines are compared; longer texts are shown whole. A
// definition has a few hundred lines.
const maxDiff = 2000

// marked puts a mark before each line.
func marked(mark string, list []string) []string {
	out := make([]string, len(list))
	for i, line := range list {
		out[i] = mark + line
	}
	return out
}

// diffLines finds the longest common subsequence of lines and returns the lines that
// are not in it.
func diffLines(old, new []string) []string {
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		old, new = old[1:], new[1:]
	}
	for len(old) > 0 && len(new) > 0 && old[len(old)-1] == new[len(new)-1] {
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	if len(old) > maxDiff || len(new) > maxDiff {
		return append(marked("- ", old), marked("+ ", new)...)
	}
	common := make([][]int, len(old)+1) // for what remains from a line of each text
	for i := range common {
		common[i] = make([]int, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); old[i] == new[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out []string
	for len(old) > 0 || len(new) > 0 {
		i, j := len(common)-1-len(old), len(common[0])-1-len(new)
		switch {
		case len(old) > 0 && len(new) > 0 && old[0] == new[0]:
			old, new = old[1:], new[1:]
		case len(old) > 0 && (len(new) == 0 || common[i+1][j] >= common[i][j+1]):
			out, old = append(out, "- "+old[0]), old[1:]
		default:
			out, new = append(out, "+ "+new[0]), new[1:]
		}
	}
	return out
}
