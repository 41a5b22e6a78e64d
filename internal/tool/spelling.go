package tool

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"fika/internal/text/spelling"
)

// suggestName returns the end of a message about an unknown name: the nearest of names,
// or all of them when none is near.
func suggestName(name string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	if near := nearestName(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; there is " + clipBytes(strings.Join(names, ", "), 400)
}

// nearestName returns the name with the smallest edit distance; empty when none is near
// enough.
func nearestName(name string, names []string) string {
	name = strings.ToLower(clipBytes(name, 64))
	best, limit := "", 1+len(name)/3
	for _, n := range names {
		low := strings.ToLower(n)
		d := spelling.Distance(name, low)
		if d > limit && len(low) > 2 && (strings.HasPrefix(name, low) || strings.HasSuffix(name, low)) {
			d = limit // read_file for read, file_path for path
		}
		if d < limit || (d == limit && best == "") {
			best, limit = n, d
		}
	}
	return best
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// clipBytes cuts s to at most n bytes, at a rune boundary, and adds an ellipsis if
// anything was cut.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
