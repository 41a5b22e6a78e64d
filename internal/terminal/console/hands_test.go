package console

import (
	"bufio"
	"context"
	"errors"
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

// TestEditOutside: another program changes the line, with the terminal to itself: it gets what is
// typed, nothing is drawn meanwhile, and files that were named stay chips.
func TestEditOutside(t *testing.T) {
	var p *pair
	var got string
	p = onPTY(t, Options{Prompt: "> ", Chip: func(word string) int {
		if word == "@cart.go" {
			return len(word)
		}
		return 0
	}, Edit: func(_ context.Context, text string) (string, error) {
		if text == "no" {
			return "", errors.New("no editor here")
		}
		p.Print("meanwhile")
		p.types("typed\n")
		line, err := bufio.NewReader(p.tty).ReadString('\n')
		got = text
		if strings.Contains(p.said.String(), "meanwhile") {
			t.Error("something was drawn over the program")
		}
		return "see @cart.go:\n" + line, err
	}})
	p.types("look at @cart.go \x18\x05")
	until(t, "the line is back", func() bool {
		return strings.Contains(p.said.String(), "typed") && strings.Contains(p.said.String(), "meanwhile")
	})
	p.types("!\r")
	line, err := p.Read(t.Context())
	if err != nil || line.Text != "see @cart.go:\ntyped!" || len(line.Chips) != 1 || line.Text[line.Chips[0].From:line.Chips[0].To] != "@cart.go" {
		t.Errorf("%q, %v, %v", line.Text, line.Chips, err)
	}
	if got != "look at @cart.go " {
		t.Errorf("given %q", got)
	}
	p.types("no\x18\x05")
	until(t, "why it failed", func() bool { return strings.Contains(p.said.String(), "not edited: no editor here") })
	p.types("\r")
	p.reads("no")
	p.types("a\x18b\r") // ctrl-x with another key means nothing
	p.reads("ab")
}

// TestCloseWhileEditing: a console that is closed ends the program.
func TestCloseWhileEditing(t *testing.T) {
	begun := make(chan struct{})
	p := onPTY(t, Options{Edit: func(ctx context.Context, text string) (string, error) {
		close(begun)
		<-ctx.Done()
		return text, ctx.Err()
	}})
	p.types("x\x18\x05")
	<-begun
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
