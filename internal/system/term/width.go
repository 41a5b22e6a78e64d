package term

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the number of columns that text takes on a terminal: two for wide runes
// and emoji, none for combining marks and escape sequences.
func Width(text string) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return ansi.StringWidth(text)
		}
	}
	return len(text) // printable ASCII, as most text is: a column each
}

// Truncate cuts text to at most width columns, ending in … if something was cut. Styles
// in it are closed.
func Truncate(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(text, width, "…")
}

func itoa(n int) string { return strconv.Itoa(n) }

// Wrap breaks text, which may contain styles, between words into lines of at most width
// columns. It breaks inside a word only if the word is longer than a line.
func Wrap(text string, width int) string { return ansi.Wrap(text, max(1, width), "") }

// FoldLines breaks lines between words so that they fit into width columns if possible. A
// longer word stays whole, so that a path, for example, can be copied. The indentation of
// a line is repeated before its other parts.
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

// ReflowText fills the lines of paragraphs up to width columns. Indented lines are lists
// and tables, and are not joined.
func ReflowText(text string, width int) string {
	var out []string
	open := false // the last line can be continued
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

// HangText puts a label before a text: beside it if the label has fewer than column
// columns, otherwise above it. Each line of the text begins at column.
func HangText(label, text string, column, width int) string {
	space := strings.Repeat(" ", column)
	lines := FoldLines(space+text, width)
	if Width(label) < column {
		return label + strings.Repeat(" ", column-Width(label)) + strings.TrimPrefix(lines, space)
	}
	return label + "\n" + lines
}
