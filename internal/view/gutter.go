package view

import (
	"strings"

	"fika/internal/term"
)

// The limits within which text stands beside its speaker's name. For longer names and
// on narrow terminals it stands below.
const (
	longName   = 14
	narrow     = 36
	belowName  = 2
	nameSpace  = 2
	callsSpace = "   "
)

// GutterWidth returns how many columns the text of a speaker is indented on a terminal
// of the given width.
func GutterWidth(name string, width int) int {
	if n := term.Width(term.CleanLine(name)); n <= longName && width >= narrow {
		return n + nameSpace
	}
	return belowName
}

// WithName puts a name before a text that is indented for it: beside the first row if
// there is room, else above.
func WithName(style term.Style, name, text string, width int) string {
	clean := term.CleanLine(name)
	shown := style.Bold(style.Speaker(name, clean))
	room := strings.Repeat(" ", term.Width(clean)+nameSpace)
	text = strings.TrimLeft(text, "\n")
	if GutterWidth(name, width) == len(room) && strings.HasPrefix(text, room) {
		return shown + strings.Repeat(" ", nameSpace) + text[len(room):]
	}
	return shown + "\n" + text
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
