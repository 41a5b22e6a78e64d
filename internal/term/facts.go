package term

import (
	"io"
	"strings"
)

// Fact is something that is known of a thing: what it is called, and what it is.
type Fact struct{ Label, Value string }

// Facts writes what is known of one thing to Out, a line for each; a value that is
// empty is left out, and one that is too long for the terminal goes on below itself.
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
