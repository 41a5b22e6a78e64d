package term

import (
	"io"
	"strings"
)

// Fact is one known property of a thing: its label and its value.
type Fact struct{ Label, Value string }

// Facts writes the facts about one thing to Out, one per line. Facts without a value are
// left out; a value that is too long for the terminal continues on the next lines,
// aligned with itself.
func (s *Streams) Facts(facts ...Fact) error {
	label := 0
	for _, f := range facts {
		if f.Value != "" {
			label = max(label, Width(f.Label))
		}
	}
	var b strings.Builder
	below := "\n" + strings.Repeat(" ", label+2)
	for _, f := range facts {
		if f.Value == "" {
			continue
		}
		value := CleanLine(f.Value)
		if s.OutTTY && s.Width > 0 {
			value = strings.ReplaceAll(Wrap(value, max(minLegible, s.Width-label-2)), "\n", below)
		}
		b.WriteString(s.OutStyle().Bold(f.Label) + strings.Repeat(" ", label+2-Width(f.Label)) + value + "\n")
	}
	_, err := io.WriteString(s.Out, b.String())
	return err
}
