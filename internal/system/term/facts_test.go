package term

import (
	"strings"
	"testing"
)

// TestFacts: a line for each value there is, without an empty line before; a long
// value goes on below itself.
func TestFacts(t *testing.T) {
	facts := []Fact{{"model", "sonnet"}, {"nothing", ""}, {"key", "a\nb \x1b[31mred"}, {"tools", "read, list, edit, create"}}
	var out strings.Builder
	s := &Streams{Out: &out}
	if err := s.Facts(facts...); err != nil || !strings.HasPrefix(out.String(), "model  sonnet\nkey    a b red\ntools  read, list, edit, create\n") {
		t.Errorf("%v, and this:\n%s", err, out.String())
	}
	out.Reset()
	s.OutTTY, s.Width = true, 24
	if err := s.Facts(facts...); err != nil || !strings.HasSuffix(out.String(), "tools  read, list, edit,\n       create\n") {
		t.Errorf("%v, at 24 columns:\n%s", err, out.String())
	}
}
