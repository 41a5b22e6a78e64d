package console

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"fika/internal/system/term"
)

func FuzzDecoder(f *testing.F) {
	for _, s := range []string{"abc\r", "\x1b[A\x1bOH\x1b[1;5D", "\x1b[200~a\rb\x1b[201~c", "\x1b\x1b[3~", "日本\xe6", "\x1b[200~x\x1b[20", "\x1b[;;;;;"} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, p []byte, seed uint64) {
		var whole, cut decoder
		want := merge(append(whole.feed(p), whole.flush()...))
		var got []key
		r := rand.New(rand.NewPCG(seed, 1))
		for rest := p; len(rest) > 0; {
			n := 1 + r.IntN(min(8, len(rest)))
			got = append(got, cut.feed(rest[:n])...)
			rest = rest[n:]
		}
		got = merge(append(got, cut.flush()...))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); diff != "" {
			t.Fatalf("whole and in pieces differ for %q:\n%s", p, diff)
		}
	})
}

// merge joins insertions, which may come in pieces.
func merge(keys []key) []key {
	var out []key
	for _, k := range keys {
		if n := len(out); n > 0 && k.action == actInsert && out[n-1].action == actInsert {
			out[n-1].text += k.text
			continue
		}
		out = append(out, k)
	}
	return out
}

func TestDecoderWaits(t *testing.T) {
	var d decoder
	for _, s := range []string{"\x1b", "\x1b[", "\x1b[1;", "\x1bO", "\xe6\x97", "\x1b[200~unended"} {
		if keys := d.feed([]byte(s)); len(keys) > 0 || !d.waiting() {
			t.Errorf("%q is taken: %v", s, keys)
		}
		keys := d.flush()
		if want := strings.HasSuffix(s, "unended") || s == "\x1b"; len(keys) > 0 != want || d.waiting() {
			t.Errorf("after %q: %v", s, keys)
		}
	}
	d.feed([]byte(pasteStart))
	for range 5 {
		d.feed(make([]byte, 2<<20))
	}
	if keys := d.feed([]byte(pasteEnd)); !d.cut || len(keys) != 1 || len(keys[0].text) != maxPaste {
		t.Error("a huge paste is not bounded")
	}
}

func FuzzEditorAndLayout(f *testing.F) {
	f.Add("hello 日本 👩‍👩‍👧\nnext\tline e\u0301", []byte{1, 5, 6, 7, 200, 16, 17, 18}, uint8(20), uint8(5))
	f.Add("a\t", []byte{}, uint8(8), uint8(5))
	f.Fuzz(func(t *testing.T, text string, steps []byte, width, height uint8) {
		if len(text) > 2000 || len(steps) > 200 {
			return
		}
		var e editor
		e.insert(typed(text))
		for _, s := range steps {
			switch {
			case s > 200:
				e.insert(asChip("@" + strings.Repeat("語a b", int(s)-200)))
			case s > 150:
				e.typeText(typed(text[:min(len(text), int(s)-150)]))
				if word := strings.TrimRightFunc(e.typedWord(), unicode.IsSpace); word != "" {
					e.makeChip(len(word))
				}
			default:
				e.apply(action(s % byte(actQuit)))
			}
			if strings.Count(e.text, string(chipStart)) != strings.Count(e.text, string(chipEnd)) || e.outside(e.pos, false) != e.pos {
				t.Fatalf("a chip was cut: %q at %d", e.text, e.pos)
			}
			if e.pos < 0 || e.pos > len(e.text) || !utf8.ValidString(e.text) || !utf8.ValidString(e.text[:e.pos]) {
				t.Fatalf("cursor at %d of %q", e.pos, e.text)
			}
		}
		v := view{prompt: "you> ", status: "s", text: e.text, pos: e.pos, reading: true,
			menu: []string{"a", "日本"}, chosen: 1, width: int(width), height: int(height)}
		b := layout(v)
		w, h := max(2, v.width), max(2, v.height)
		if len(b.rows) > max(h, 1) || b.row >= len(b.rows) {
			t.Fatalf("%d rows, cursor in %d, terminal of %d", len(b.rows), b.row, h)
		}
		for _, r := range b.rows {
			if got := term.Width(r); got >= w && w > 6 {
				t.Fatalf("row %q takes %d of %d columns", r, got, w)
			}
		}
		if term.Width(b.before) >= w && w > 6 {
			t.Fatalf("the cursor is outside: %q", b.before)
		}
	})
}

func TestLayout(t *testing.T) {
	v := view{prompt: "> ", text: "0123456789\nab", pos: 13, reading: true, chosen: -1, width: 9, height: 10}
	want := block{rows: []string{"> 012345", "  6789", "  ab"}, row: 2, before: "  ab"}
	if diff := cmp.Diff(want, layout(v), cmp.AllowUnexported(block{})); diff != "" {
		t.Error(diff)
	}
	v.text, v.pos = strings.Repeat("x\n", 30), 0
	b := layout(v)
	if len(b.rows) != 9 || !strings.HasPrefix(b.rows[8], "↓ x") {
		t.Errorf("rows: %q", b.rows)
	}
	v.prompt, v.text = strings.Repeat("long", 30), "x"
	if b := layout(v); !strings.HasSuffix(b.rows[0], "…x") {
		t.Errorf("a prompt that is too long: %q", b.rows)
	}
	v.reading, v.status = false, "waiting"
	if diff := cmp.Diff(block{rows: []string{"waiting"}, row: 1}, layout(v), cmp.AllowUnexported(block{})); diff != "" {
		t.Error(diff)
	}
	many := view{reading: true, chosen: 55, width: 20, height: 24}
	for i := range 60 {
		many.menu = append(many.menu, fmt.Sprintf("item%02d", i))
	}
	if rows := strings.Join(layout(many).rows, "\n"); !strings.Contains(rows, "item55") {
		t.Errorf("the chosen one is not seen:\n%s", rows)
	}
}

func TestMenu(t *testing.T) {
	var m menu
	e := editor{}
	e.set("ask @a")
	if !m.offer(&e, []Completion{{Start: 4, Text: "@arya "}, {Start: 4, Text: "@arthur "}, {Start: 99, Text: "x"}, {Start: -1, Text: "y"}, {Start: 0, Text: "z"}}) {
		t.Fatal("nothing was offered")
	}
	if e.text != "ask @ar" || len(m.items) != 2 {
		t.Errorf("line %q, %d items", e.text, len(m.items))
	}
	m.choose(&e, -1)
	if e.text != "ask @arthur " {
		t.Errorf("line %q", e.text)
	}
	if m.offer(&e, nil) || len(m.items) != 0 {
		t.Error("offered nothing, yet there is something")
	}
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "history")
	h, err := loadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"one", "two\nlines \\n", "one", " secret", "", strings.Repeat("x", maxHistoryEntry+1)} {
		if err := h.add(line); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"two\nlines \\n", "one"}
	if diff := cmp.Diff(want, h.entries); diff != "" {
		t.Error(diff)
	}
	if h, err = loadHistory(path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, h.entries); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestHistoryIsBoundedAndRepaired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 3 * maxHistory {
		fmt.Fprintf(&b, "entry %d\n", i)
	}
	b.WriteString("torn \x1b[2Jend\xff")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := loadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.entries) != maxHistory || h.entries[maxHistory-1] != "torn end\uFFFD" {
		t.Errorf("%d entries, the last is %q", len(h.entries), h.entries[len(h.entries)-1])
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), "\n") != maxHistory {
		t.Errorf("%d lines in the file, %v", strings.Count(string(raw), "\n"), err)
	}
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, err = loadHistory(path); err != nil {
		t.Fatal(err)
	}
	if err := h.add("next"); err != nil {
		t.Fatal(err)
	}
	if raw, _ = os.ReadFile(path); string(raw) != "torn\nnext\n" {
		t.Errorf("file: %q", raw)
	}
}

func FuzzHistory(f *testing.F) {
	f.Add("a\\nb\nc", []byte("x\\"))
	f.Fuzz(func(t *testing.T, line string, raw []byte) {
		parseHistory(raw)
		line = typed(line)
		if strings.TrimSpace(line) == "" {
			return
		}
		got := parseHistory([]byte(historyEscapes.Replace(line) + "\n"))
		if diff := cmp.Diff([]string{line}, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkLayoutOfALongText(b *testing.B) {
	v := view{prompt: "> ", text: strings.Repeat("some text, 日本語 and so on\n", 2000), reading: true, width: 80, height: 24}
	for b.Loop() {
		layout(v)
	}
}
