package safetext

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"ordinary", "plain text\n\tindented", "plain text\n\tindented"},
		{"scripts", "naïve Привет 日本語 עברית हिन्दी", "naïve Привет 日本語 עברית हिन्दी"},
		{"emoji", "👩‍👩‍👧 ❤️‍🔥 1️⃣ 🇸🇪 👍🏽", "👩‍👩‍👧 ❤️‍🔥 1️⃣ 🇸🇪 👍🏽"},
		{"persian joiner", "می\u200cخواهم", "می\u200cخواهم"},
		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"cursor", "a\x1b[2J\x1b[1;1Hb", "ab"},
		{"private mode", "a\x1b[?1049hb", "ab"},
		{"title", "a\x1b]0;title\x07b", "ab"},
		{"clipboard", "a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"},
		{"link", "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"dcs", "a\x1bPq#0;2\x1b\\b", "ab"},
		{"apc pm sos", "a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd"},
		{"charset", "a\x1b(0b\x1bcc", "abc"},
		{"carriage return", "safe\rEVIL\r\n", "safeEVIL\n"},
		{"controls", "a\x00\x07\x08\x0b\x0c\x7fb", "ab"},
		{"c1", "a\u009b31mb\u0085", "ab"},
		{"raw c1", "a\x9b31m", "a\uFFFD31m"},
		{"unended title loses its line only", "a\x1b]0;x\nnext", "a\nnext"},
		{"sequence broken by text", "a\x1b[3世界", "a世界"},
		{"sequence in a sequence", "a\x1b[3\x1b[31mb", "ab"},
		{"escape at the end", "a\x1b", "a"},
		{"bidi override", "a\u202eb\u2066c\u200f", "abc"},
		{"zero width", "pay\u200bpal\ufeff\u2060\u00ad", "paypal"},
		{"joiner in latin", "pay\u200dpal", "paypal"},
		{"selectors as smuggling", "a\ufe01\ufe02b\U000e0101", "ab"},
		{"tags", "x\U000e0041\U000e0042", "x"},
		{"separators", "a\u2028b", "a\nb"},
		{"broken utf-8", "a\xffb\xe6\x97", "a\uFFFDb\uFFFD\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Clean(tt.in); got != tt.want {
				t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestCleanStyledKeepsStylesOnly(t *testing.T) {
	in := "\x1b[1;38;5;33mbold\x1b[0m\x1b[2J\x1b]0;t\x07\x1b[?25m\x1b[" + strings.Repeat("1;", 90) + "mx"
	want := "\x1b[1;38;5;33mbold\x1b[0mx"
	if got := (Options{Styles: true}).Clean(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Line("a\nb\tc"); got != "a b c" {
		t.Errorf("Line gave %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31mx", "\x1b]52;c;x\x07y", "👩‍👩‍👧\ufe0f\ufe0f", "\xe6\x97\xa5", "\x1b\x1b[\x1b\\", "\u200d\u200d", "日\U000e0101"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Clean(%q) = %q is not UTF-8", s, got)
		}
		for _, r := range got {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || isHidden(r) {
				t.Fatalf("Clean(%q) leaves %U", s, r)
			}
		}
		if again := Clean(got); again != got {
			t.Fatalf("cleaning twice: %q then %q", got, again)
		}
		styled := (Options{Styles: true}).Clean(s)
		if again := (Options{Styles: true}).Clean(styled); again != styled {
			t.Fatalf("cleaning styled twice: %q then %q", styled, again)
		}
		if Clean(styled) != got {
			t.Fatalf("Clean(%q) = %q, by way of styles %q", s, got, Clean(styled))
		}
	})
}

// FuzzCleanKeepsText mixes ordinary text with whole escape sequences: all of
// the text must come through.
func FuzzCleanKeepsText(f *testing.F) {
	f.Add("hello, world", "日本語 and ünïcode", uint8(3))
	f.Fuzz(func(t *testing.T, a, b string, n uint8) {
		a, b = Clean(a), Clean(b)
		seqs := []string{"\x1b[1m", "\x1b]0;t\x07", "\x1b]8;;u\x1b\\", "\x1bPx\x1b\\", "\x1bc", "\x1b(B", "\x07", "\u202e"}
		got := Clean(a + seqs[int(n)%len(seqs)] + b)
		if want := Clean(a + b); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func FuzzCleaner(f *testing.F) {
	f.Add([]byte("a\x1b[31m日本\x1b]52;c;x\x07\u200db\xe6\x97"), uint16(0b1010101))
	f.Fuzz(func(t *testing.T, p []byte, cuts uint16) {
		var out bytes.Buffer
		c := NewCleaner(&out)
		rest := p
		for i := 0; len(rest) > 0; i++ {
			n := 1 + int(cuts>>(i%14))&3
			n = min(n, len(rest))
			if m, err := c.Write(rest[:n]); m != n || err != nil {
				t.Fatalf("Write gave %d, %v", m, err)
			}
			rest = rest[n:]
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if want := Clean(string(p)); out.String() != want {
			t.Fatalf("in pieces %q, whole %q", out.String(), want)
		}
	})
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

func TestCleanerReportsTheWriter(t *testing.T) {
	if _, err := NewCleaner(failing{}).Write([]byte("x")); err == nil {
		t.Error("no error")
	}
}

func BenchmarkClean(b *testing.B) {
	s := strings.Repeat("some text, 日本語, \x1b[31mred\x1b[0m\n", 100)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Clean(s)
	}
}

func TestLinksStayOnlyWhereTheyAreKept(t *testing.T) {
	link := "\x1b]8;;https://example.org/a?b=c\x1b\\here\x1b]8;;\x1b\\"
	for _, c := range []struct{ text, want string }{
		{link, link},
		{"\x1b[1m" + link + "\x1b[22m", "\x1b[1m" + link + "\x1b[22m"},
		{"\x1b]8;;javascript:alert(1)\x1b\\here\x1b]8;;\x1b\\", "here\x1b]8;;\x1b\\"},
		{"\x1b]8;;file:///etc/passwd\x1b\\x", "x"},
		{"\x1b]8;id=1;https://a\x1b\\x", "x"},
		{"\x1b]8;;https://a\u202eb\x1b\\x", "x"},
		{"\x1b]8;;https://a b\x1b\\x", "x"},
		{"\x1b]8;;https:a\x1b\\x", "x"},
		{"\x1b]8;;https://a\x07x", "x"}, // ended as only some terminals understand it
		{"\x1b]8;;https://" + strings.Repeat("a", 3000) + "\x1b\\x", "x"},
		{"\x1b]0;title\x1b\\\x1bP8;;https://a\x1b\\x", "x"},
		{"\x1b]8;;https://a\x1b\x1b\\x", "x"},
	} {
		if got := (Options{Styles: true, Links: true}).Clean(c.text); got != c.want {
			t.Errorf("Options{Styles: true, Links: true}.Clean(%.80q) = %.80q, want %q", c.text, got, c.want)
		}
		if got := (Options{Styles: true, Links: true}).Clean(Options{Styles: true, Links: true}.Clean(c.text)); got != (Options{Styles: true, Links: true}).Clean(c.text) {
			t.Errorf("cleaning %.80q twice changes it", c.text)
		}
		if strings.Contains(Options{Styles: true}.Clean(c.text), "]8") {
			t.Errorf("CleanStyled left a link in %.80q", c.text)
		}
	}
}
