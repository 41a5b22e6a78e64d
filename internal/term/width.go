package term

import (
	"strconv"

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
