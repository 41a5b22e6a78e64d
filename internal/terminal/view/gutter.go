package view

import (
	"strings"

	"fika/internal/system/term"
)

// Indent is how many columns the text of a speaker is indented below their name.
const Indent = 2

const callsSpace = "   "

// WithName puts the name of a speaker above a text that is indented for it.
func WithName(style term.Style, name, text string) string {
	return style.Bold(style.Speaker(name, term.CleanLine(name))) + "\n" + strings.TrimLeft(text, "\n")
}

// IndentRows indents the rows of a text that are not empty.
func IndentRows(text string, by int) string {
	if by == 0 {
		return text
	}
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		if row != "" {
			rows[i] = strings.Repeat(" ", by) + row
		}
	}
	return strings.Join(rows, "\n")
}

// CallRow puts a call beside others in a row of the given width, if each is a single
// line.
func CallRow(before, call string, width int) (string, bool) {
	switch {
	case strings.Contains(call, "\n"):
		return "", false
	case before == "":
		return call, true
	case term.Width(before)+len(callsSpace)+term.Width(call) > width-1:
		return "", false
	}
	return before + callsSpace + call, true
}
