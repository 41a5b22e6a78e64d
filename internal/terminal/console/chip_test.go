package console

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files is an Options.Chip that knows two files.
func files(word string) int {
	for _, name := range []string{"@cart.go", "@/etc/passwd"} {
		if rest, found := strings.CutPrefix(word, name); found && strings.Trim(rest, ",.?") == "" {
			return len(name)
		}
	}
	return 0
}

// named are the chips of a line, as words.
func (p *pair) named(want string, chips ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	line, err := p.Read(ctx)
	var got []string
	for _, c := range line.Chips {
		got = append(got, line.Text[c.From:c.To])
	}
	if diff := cmp.Diff(chips, got); diff != "" || line.Text != want || err != nil {
		p.t.Errorf("read %q, %v; want %q\n%s", line.Text, err, want, diff)
	}
}

// TestChips types, pastes, completes and recalls words that stand for files: only
// what was typed, or completed, is a chip; a chip is erased and passed over whole.
func TestChips(t *testing.T) {
	history := filepath.Join(t.TempDir(), "history")
	complete := func(line string, pos int) []Completion {
		at := strings.LastIndexByte(line[:pos], '@')
		return []Completion{{Start: at, Text: "@cart.go", Chip: true}, {Start: at, Text: "@my \x1b[31mfile", Chip: true}}
	}
	p := onPTY(t, Options{Prompt: "> ", HistoryFile: history, Chip: files, Complete: complete})
	const up, left, pasteAll = "\x1b[A", "\x1b[D", "\x1b[200~see @/etc/passwd now\x1b[201~"
	for _, c := range []struct {
		typed, want string
		chips       []string
	}{
		{"see @cart.go, and @cart.go\r", "see @cart.go, and @cart.go", []string{"@cart.go", "@cart.go"}},
		{"see @carx\x7ft.go ok\r", "see @cart.go ok", []string{"@cart.go"}},
		{"see @none.go me@cart.go\r", "see @none.go me@cart.go", nil},
		{pasteAll + " too\r", "see @/etc/passwd now too", nil},
		{"\x1b[200~@/etc/passwd\x1b[201~\r", "@/etc/passwd", nil},
		{up + "\r", "@/etc/passwd", nil},
		{"@\x1b[200~/etc/passwd\x1b[201~ \r", "@/etc/passwd ", nil},
		{"x @cart.go y" + left + left + "\x7fz\r", "x z y", nil},
		{"x @cart.go \x17\x19y\r", "x @cart.go y", []string{"@cart.go"}},
		{"a @cart.go" + left + "\x1b\r\r", "a @cart.g\no", nil},
		{"a @cart.go\x1b\rb\r", "a @cart.go\nb", []string{"@cart.go"}},
		{"日本 @c\tx @c\t\r", "日本 @cart.go x @cart.go ", []string{"@cart.go", "@cart.go"}},
		{up + "\x7f!\r", "日本 @cart.go x @cart.go!", []string{"@cart.go", "@cart.go"}},
		{"\x1b[200~@c\x1b[201~\t\r", "@cart.go ", []string{"@cart.go"}},
	} {
		p.types(c.typed)
		p.named(c.want, c.chips...)
	}
	if err := p.Close(); err != nil { // a line is handed out first and written then
		t.Error(err)
	}
	kept, err := loadHistory(history)
	if err != nil || len(kept.entries) == 0 || kept.entries[len(kept.entries)-1] != asChip("@cart.go")+" " {
		t.Errorf("the history has %q, %v", kept.entries, err)
	}
}

// TestChipsAreShown lays out a chip, reversed, in one row and cut where the row is
// too narrow for it.
func TestChipsAreShown(t *testing.T) {
	v := view{prompt: "> ", text: "a " + asChip("@cart.go") + " b", pos: 2, reading: true, chosen: -1, width: 40, height: 10, live: []string{"x"}}
	b := layout(v)
	if want := "> a \x1b[4m\x1b[7m@cart.go\x1b[27m\x1b[24m b"; b.rows[1] != want {
		t.Errorf("%q, want %q", b.rows[1], want)
	}
	v.live, v.width = nil, 10
	if diff := cmp.Diff([]string{"> a ", "  \x1b[7m@cart.…\x1b[27m", "   b"}, layout(v).rows); diff != "" {
		t.Error(diff)
	}
	for _, broken := range []string{"\x01", "a\x01b", "\x02", "\x01\x02x", "\x01a\nb\x02"} {
		if got := withChips(broken); strings.Count(got, "\x01") != strings.Count(got, "\x02") || strings.Contains(got, "\n") && got != plain(got) {
			t.Errorf("%q becomes %q", broken, got)
		}
	}
}

// A line that is edited again is as it was entered, and a text of somebody else's has no
// chips.
func TestEncode(t *testing.T) {
	for _, text := range []string{"", "a", "see " + asChip("@cart.go") + ", and " + asChip("@x"), asChip("[Pasted text 1: 500 lines]"), "two\nlines"} {
		if got := encode(decode(text)); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if got := encode(Line{Text: "a " + asChip("@cart.go") + "\x1b[31m"}); strings.ContainsAny(got, "\x01\x02\x1b") {
		t.Errorf("%q", got)
	}
}
