package speech

import (
	"strings"
	"unicode"
)

// IndentRest indents all lines of a text but the first by two spaces, so that none of
// them begins where a speaker's name does. Anything that breaks a line somewhere (a
// carriage return, a form feed, U+2028) is a line break here.
func IndentRest(text string) string { return strings.Join(lines(text), "\n  ") }

// QuoteLines puts "> " before every line of a text.
func QuoteLines(text string) string { return "> " + strings.Join(lines(text), "\n> ") }

// lines splits text at every kind of line break.
func lines(text string) []string {
	if strings.ContainsAny(text, "\r\v\f\u0085\u2028\u2029") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	}
	return strings.Split(text, "\n")
}

// HeadingName returns a speaker's name in the form for a heading: one line without
// square brackets or invisible characters.
func HeadingName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, name)
	return strings.Join(strings.Fields(name), " ")
}
