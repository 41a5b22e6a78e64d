package console

import (
	"strings"
	"testing"
)

// TestSearchBack: ctrl-r finds the newest line with what is typed, again the one before,
// enter sends it, tab edits it, escape returns to the line (trial row U18).
func TestSearchBack(t *testing.T) {
	p := onPTY(t, Options{Prompt: "> "})
	for _, line := range []string{"git push origin", "make test", "git PUSH upstream", "last"} {
		p.types(line + "\r")
		p.reads(line)
	}
	for _, c := range [][2]string{
		{"draft\x12push\r", "git PUSH upstream"}, {"\x12push\x12\r", "git push origin"},
		{"\x12mal\x7f\x7fake\r", "make test"}, {"\x12make\t now\r", "make test now"},
	} {
		p.types(c[0])
		p.reads(c[1])
	}
	p.types("draft\x12push\x03, kept\r")
	p.reads("draft, kept")
	p.types("\x12nowhere")
	p.sees("not found nowhere")
	p.types("\x03\r")
	p.reads("")
}

// TestPasteIsAChip: a long paste is one mark that the cursor passes and erases as one.
func TestPasteIsAChip(t *testing.T) {
	p := onPTY(t, Options{Prompt: "> ", Paste: func(text string) string {
		if strings.Count(text, "\n") > 2 {
			return "[paste]"
		}
		return ""
	}})
	long := pasteStart + strings.Repeat("line\n", 500) + pasteEnd
	p.types("see " + long + " and " + pasteStart + "short" + pasteEnd + "\r")
	p.reads("see [paste] and short")
	p.types("a" + long + "\x7fb\r")
	p.reads("ab")
}
