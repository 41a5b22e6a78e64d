package markdown

import (
	"strings"
	"testing"

	"fika/internal/system/term"
)

// whole renders a text that is parsed at once, without a Stream.
func whole(text string, o Options) string {
	s := NewStream(o)
	r := renderer{p: s.p, o: o}
	s.writeBlocks(&r, []byte(strings.TrimSuffix(term.Clean(text), "\n")+"\n"))
	if len(r.out) == 0 {
		return ""
	}
	return strings.Join(r.out, "\n") + "\n"
}

const sample = "# Title with `code`\n\nA paragraph with **bold**, *it*, ~~no~~ and [a link](https://example.org/x).\nSecond line; see https://go.dev/doc, or <mailto:a@b.c>.\n\n" +
	"1. one\n2. two\n   - nested a\n   - nested b\n\n     more of b\n\n3. three\n   ```go\n   x := 1\n   ```\n\n" +
	"> quoted text\n> continues\n>\n> - in a quote\n\n| Name | Größe | 日本 |\n|---|--:|:-:|\n| a | 10 | 語 |\n| `b\\|c` | 2 | 👩‍👩‍👧 |\n\n```sh\nfor i in 1 2; do\n\techo $i\ndone\n```\nafter\n***\n<div>html</div>\n\n- [ ] todo\n- [x] done\n* other list\n"

func TestRender(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"marks stay without styles", "## A `b` **c** *d* ~~e~~", "## A `b` **c** *d*\n~~e~~"},
		{"line breaks stay", "one\ntwo  \nthree", "one\ntwo\nthree"},
		{"wrapped at spaces", "the quick brown fox jumps over", "the quick brown fox\njumps over"},
		{"long word", "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrst\nuvwxyz"},
		{"ideographs", "日本語の文章は、空白なしで折り返す。", "日本語の文章は、空白\nなしで折り返す。"},
		{"no sign begins a row", "日本語の文章は空白で。続く", "日本語の文章は空白\nで。続く"},
		{"nested list", "- a\n  1. b\n     more\n  2. c\n- d", "• a\n  1. b\n     more\n  2. c\n• d"},
		{"numbers go on", "3. a\n3. b\n3. c", "3. a\n4. b\n5. c"},
		{"loose where it is", "- a\n\n- b\n- c", "• a\n\n• b\n• c"},
		{"empty item", "-\n- b", "•\n• b"},
		{"quote", "> a\n>\n> > b", "│ a\n│\n│ │ b"},
		{"code is not wrapped", "```go x\n\tif a := bbbbbbbbbbbbbbbbbbbbbbbbbb {\n```", "```go x\n\tif a := bbbbbbbbbbbbbbbbbbbbbbbbbb {\n```"},
		{"fence that is never closed", "~~~\na", "```\na\n```"},
		{"code in a list", "1. x\n   ```\n   y\n   ```\n2. z", "1. x\n   ```\n   y\n   ```\n2. z"},
		{"table", "|a|b|\n|-|-:|\n|long|1|\n|x|22|3|", "a    │  b\n─────┼───\nlong │  1\nx    │ 22"},
		{"table with text before", "see:\na|b\n-|-\n1|2", "see:\na │ b\n──┼──\n1 │ 2"},
		{"wide cells", "|a|b|\n|:-:|-|\n|日本語|é|", "  a    │ b\n───────┼──\n日本語 │ é"},
		{"cells are wrapped", "|a|b|\n|--|--|\n|one two three|four five six|\n|x|y|", "a        │ b\n─────────┼─────────\none two  │ four\nthree    │ five six\n┄┄┄┄┄┄┄┄┄┼┄┄┄┄┄┄┄┄┄\nx        │ y"},
		{"too many columns", "|aa|bb|cc|\n|--|--|--|\n|1 2 3 4|5 6 7 8|9 0 1 2|\n|x|y|z|", "aa: 1 2 3 4\nbb: 5 6 7 8\ncc: 9 0 1 2\n─\naa: x\nbb: y\ncc: z"},
		{"bar in a cell", `|a\|b|` + "\n|--|\n|`c\\|d`|", "a|b\n─────\n`c|d`"},
		{"no table", "a|b\nc|d", "a|b\nc|d"},
		{"link shows where it leads", "[here](https://a.bc)", "here (https://a.bc)"},
		{"link that says where", "[https://a.bc](https://a.bc)", "https://a.bc"},
		{"link that lies", "[https://b.ank](https://evil)", "https://b.ank\n(https://evil)"},
		{"definition stays", "[x]: https://a.bc\n\n[x]", "[x]: https://a.bc\n\n[x]"},
		{"image", "![a cat](cat.png)", "[image: a cat]\n(cat.png)"},
		{"html is text", "a<br>b <i>c</i>\n\n<div>\nx\n</div>", "a\nb <i>c</i>\n\n<div>\nx\n</div>"},
		{"references", "&lt;b&gt; &amp;amp; \\&amp; &copy;", "<b> &amp; &amp; ©"},
		{"hostile references", "&#27;[31mred &#x202e;evil &#0;2J", "[31mred evil �2J"},
		{"hostile escapes", "a\x1b[2Jb\x1b]0;t\ac", "abc"},
		{"nothing", " \n\n", ""},
	} {
		o := Options{Width: 20}
		if got := strings.TrimSuffix(Render(c.in, o), "\n"); got != c.want {
			t.Errorf("%s: Render(%q) =\n%s\nwant\n%s", c.name, c.in, got, c.want)
		}
	}
}

func TestStyles(t *testing.T) {
	o := Options{Style: term.NewStyle(true), Links: true, Person: func(name string) bool { return name == "bob" }}
	link := func(dest, text string) string { return "\x1b]8;;" + dest + "\x1b\\" + text + "\x1b]8;;\x1b\\" }
	for _, c := range []struct{ in, want string }{
		{"# a *b*", "\x1b[1;4ma \x1b[0m\x1b[1;3;4mb\x1b[0m"},
		{"**a `b`** ~~c~~", "\x1b[1ma \x1b[0m\x1b[1;36mb\x1b[0m \x1b[9mc\x1b[0m"},
		{"@bob, @bobby a@bob `@bob`", "\x1b[1;33m@bob\x1b[0m, @bobby a@bob \x1b[36m@bob\x1b[0m"},
		{"see https://a.bc/d(e). (https://a.bc)", "see " + link("https://a.bc/d(e)", "\x1b[4mhttps://a.bc/d(e)\x1b[0m") + ". (" + link("https://a.bc", "\x1b[4mhttps://a.bc\x1b[0m") + ")"},
		{"[a](https://b.cd)", link("https://b.cd", "\x1b[4ma\x1b[0m") + "\x1b[2m (\x1b[0m" + link("https://b.cd", "\x1b[2mhttps://b.cd\x1b[0m") + "\x1b[2m)\x1b[0m"},
		{"[a](javascript:alert) [b](file:///etc/passwd)", "\x1b[4ma\x1b[0m\x1b[2m (javascript:alert)\x1b[0m \x1b[4mb\x1b[0m\x1b[2m (file:///etc/passwd)\x1b[0m"},
	} {
		if got := strings.TrimSuffix(Render(c.in, o), "\n"); got != c.want {
			t.Errorf("Render(%q) =\n%q\nwant\n%q", c.in, got, c.want)
		}
	}
}

// TestRowsFit holds rows against the width they were made for.
func TestRowsFit(t *testing.T) {
	for _, width := range []int{1, 2, 7, 20, 40, 80, 200} {
		inCode := false
		for _, row := range strings.Split(Render(sample, Options{Width: width}), "\n") {
			if strings.Contains(row, "```") {
				inCode = !inCode
				continue
			}
			if !inCode && !strings.Contains(row, "<") && term.Width(row) > max(width, 4) && width > 7 {
				t.Errorf("at %d a row takes %d: %q", width, term.Width(row), row)
			}
		}
	}
}

func TestTailIsTheEndOfWhatIsOpen(t *testing.T) {
	s := NewStream(Options{Width: 30})
	if got := s.Add("one\n\n- a\n- b\n- par"); got != "one\n\n• a\n" {
		t.Errorf("finished is %q", got)
	}
	if got := strings.Join(s.Tail().Rows(30, 5), "\n"); got != "• b\n• par" {
		t.Errorf("the tail is %q", got)
	}
	if got := s.Add("t\n\n```go\nx := 1\ny :="); got != "• b\n• part\n\n```go\nx := 1\n" {
		t.Errorf("finished is %q", got)
	}
	if got := strings.Join(s.Tail().Rows(30, 5), "\n"); got != "y :=" {
		t.Errorf("the tail is %q", got)
	}
	if got := s.End(); got != "y :=\n```\n" {
		t.Errorf("the rest is %q", got)
	}
	if got := s.Tail().Rows(30, 5); len(got) != 0 {
		t.Errorf("a tail after the end: %q", got)
	}
}

func BenchmarkNewStream(b *testing.B) {
	for range b.N {
		NewStream(Options{})
	}
}

func BenchmarkStream(b *testing.B) {
	text := strings.Repeat(sample, 20)
	b.SetBytes(int64(len(text)))
	for range b.N {
		s := NewStream(Options{})
		for rest := text; rest != ""; {
			n := min(20, len(rest))
			s.Add(rest[:n])
			rest = rest[n:]
		}
		s.End()
	}
}

// TestCodeWithStyles: where colour shows what is code, there are no fences; a blank line is
// before and after it, and below an indent a line that is too long is broken between words.
func TestCodeWithStyles(t *testing.T) {
	for _, c := range []struct {
		indent int
		want   string
	}{
		{0, "Look:\n\n\tif a := longer && b := evenlonger {\n\nDone.\n"},
		{2, "  Look:\n\n  \tif a := longer &&\n  \t    b := evenlonger {\n\n  Done.\n"},
	} {
		got := Render("Look:\n```go\n\tif a := longer && b := evenlonger {\n```\nDone.", Options{Width: 28, Indent: c.indent, Style: term.NewStyle(true)})
		if got = term.Clean(got); got != c.want {
			t.Errorf("with indent %d:\n%q\nwant\n%q", c.indent, got, c.want)
		}
	}
}

// TestCodeIsInColour: what is coloured is the same whether code comes whole, in pieces, or
// as the unfinished rest that is drawn again and again; a language that nobody knows has
// one colour.
func TestCodeIsInColour(t *testing.T) {
	o := Options{Width: 28, Indent: 2, Style: term.NewStyle(true)}
	const text = "```go {.numbered}\nx := `a\nb` // some words that are too long for a line\n```\n\n```what\nif\n```\n"
	want := "  x := \x1b[32m`a\x1b[0m\n" +
		"  \x1b[32mb`\x1b[0m \x1b[2m// some words that\x1b[0m\n" +
		"      \x1b[2mare too long for a\x1b[0m\n" +
		"      \x1b[2mline\x1b[0m\n\n" +
		"  \x1b[36mif\x1b[0m\n"
	if got := Render(text, o); got != want {
		t.Errorf("whole:\n%q\nwant\n%q", got, want)
	}
	s, got := NewStream(o), ""
	for _, r := range text {
		got += s.Add(string(r))
		s.Tail().Rows(28, 5)
	}
	if got += s.End(); got != want {
		t.Errorf("in pieces:\n%q\nwant\n%q", got, want)
	}
}
