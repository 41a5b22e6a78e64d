package guard

import (
	"slices"
	"strings"
)

// Bound is what a person's answer to a question is bound to: the state of everything
// that the call depends on, by name. Names are for people: "deploy.sh", "the folder it
// runs in".
type Bound []BoundTo

// BoundTo is one thing that an answer is bound to.
type BoundTo struct{ Name, State string }

// String returns the text that is stored; [ParseBound] parses it.
func (b Bound) String() string {
	var out strings.Builder
	for _, x := range b {
		out.WriteString(x.State + " " + strings.ReplaceAll(x.Name, "\n", "?") + "\n")
	}
	return out.String()
}

// ParseBound parses what String returned.
func ParseBound(text string) Bound {
	var b Bound
	for line := range strings.Lines(text) {
		state, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		b = append(b, BoundTo{name, state})
	}
	return b
}

// Differences names what has changed since before, each once.
func (b Bound) Differences(before Bound) []string {
	var out []string
	note := func(from, against Bound) {
		for _, x := range from {
			if !slices.Contains(against, x) && !slices.Contains(out, x.Name) {
				out = append(out, x.Name)
			}
		}
	}
	note(b, before)
	note(before, b)
	return out
}
