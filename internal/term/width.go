package term

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width counts the columns that text takes on a terminal: two for wide runes
// and emoji, none for combining marks and escape sequences.
func Width(text string) int { return ansi.StringWidth(text) }

// Truncate cuts text to at most width columns, ending in … when something was
// cut. Styles in it are closed.
func Truncate(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(text, width, "…")
}

func itoa(n int) string { return strconv.Itoa(n) }

// Wrap breaks text, which may hold styles, between words into lines of at most
// width columns, and inside a word only when that is longer than a line.
func Wrap(text string, width int) string { return ansi.Wrap(text, max(1, width), "") }

// FoldLines breaks lines between words so that they fit into width columns where they
// can. A word that is longer stays whole: what a person copies, such as a path, has
// no break in it. The first spaces of a line stand before its other parts, too.
func FoldLines(text string, width int) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if Width(line) <= width {
			b.WriteString(line)
			continue
		}
		rest := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(rest)]
		at := 0
		for n, word := range strings.Split(rest, " ") {
			w := Width(word)
			switch {
			case n == 0:
				b.WriteString(indent + word)
				at = len(indent) + w
			case at+1+w > width:
				b.WriteString("\n" + indent + word)
				at = len(indent) + w
			default:
				b.WriteString(" " + word)
				at += 1 + w
			}
		}
	}
	return b.String()
}

// ReflowText fills the lines of paragraphs up to width columns. Lines that are indented
// are lists and tables, and stay lines.
func ReflowText(text string, width int) string {
	var out []string
	open := false // the last line goes on
	for _, l := range strings.Split(text, "\n") {
		switch plain := l != "" && !strings.HasPrefix(l, " "); {
		case plain && open:
			out[len(out)-1] += " " + l
		default:
			out, open = append(out, l), plain
		}
	}
	return FoldLines(strings.Join(out, "\n"), width)
}

// HangText puts a label before a text: beside it, where the label has fewer than column
// columns, else above it; the text begins at column in each of its lines.
func HangText(label, text string, column, width int) string {
	space := strings.Repeat(" ", column)
	lines := FoldLines(space+text, width)
	if Width(label) < column {
		return label + strings.Repeat(" ", column-Width(label)) + strings.TrimPrefix(lines, space)
	}
	return label + "\n" + lines
}
