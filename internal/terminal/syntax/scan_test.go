package syntax

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// marked returns code with a mark around each piece that is not plain.
func marked(language, code string) string {
	marks := map[Kind]string{Comment: "c", String: "s", Number: "n", Keyword: "k", Key: "f", Added: "a", Removed: "r"}
	s := New(language)
	var out []string
	for _, line := range strings.Split(code, "\n") {
		var b strings.Builder
		for _, p := range s.Line(line) {
			if m := marks[p.Kind]; m != "" {
				b.WriteString(m + "⟨" + p.Text + "⟩")
			} else {
				b.WriteString(p.Text)
			}
		}
		out = append(out, b.String())
	}
	return strings.Join(out, "\n")
}

func TestLanguages(t *testing.T) {
	for _, c := range []struct{ language, code, want string }{
		{"go", "if x := \"a // \\\" b\"; x == 'c' { // why\n/* over\nlines */ return nil", "k⟨if⟩ x := s⟨\"a // \\\" b\"⟩; x == s⟨'c'⟩ { c⟨// why⟩\nc⟨/* over⟩\nc⟨lines */⟩ k⟨return⟩ k⟨nil⟩"},
		{"Go", "s := `a \\\nb` + 0x1F", "s := s⟨`a \\⟩\ns⟨b`⟩ + n⟨0x1F⟩"},
		{"py", "def f(a): # c\n  \"\"\"doc\n  more\"\"\"\n  return 'it''s' + f2", "k⟨def⟩ f(a): c⟨# c⟩\n  s⟨\"\"\"doc⟩\ns⟨  more\"\"\"⟩\n  k⟨return⟩ s⟨'it''s'⟩ + f2"},
		{"sh", "for f in $(ls); do echo \"${#f} $f\" '\\'; done # x", "k⟨for⟩ f k⟨in⟩ $(ls); k⟨do⟩ k⟨echo⟩ s⟨\"${#f} $f\"⟩ s⟨'\\'⟩; k⟨done⟩ c⟨# x⟩"},
		{"bash", "a=$# b=x#y", "a=$# b=x#y"},
		{"rust", "fn a<'a>(x: &'a str) -> char { '\"' } // '", "k⟨fn⟩ a<'a>(x: &'a str) -> char { s⟨'\"'⟩ } c⟨// '⟩"},
		{"rs", "let c = '\\u{1F600}'; let d = '\\'';", "k⟨let⟩ c = s⟨'\\u{1F600}'⟩; k⟨let⟩ d = s⟨'\\''⟩;"},
		{"sql", "SELECT 'it''s', 1.5 -- c\nfrom t", "k⟨SELECT⟩ s⟨'it''s'⟩, n⟨1.5⟩ c⟨-- c⟩\nk⟨from⟩ t"},
		{"json", "{\"a\": \"b\", \"n\" : 12, \"t\": true}", "{f⟨\"a\"⟩: s⟨\"b\"⟩, f⟨\"n\"⟩ : n⟨12⟩, f⟨\"t\"⟩: k⟨true⟩}"},
		{"yaml", "a-b: \"c\" # d\n- on", "f⟨a-b⟩: s⟨\"c\"⟩ c⟨# d⟩\n- k⟨on⟩"},
		{"toml", "[x]\nkey = 'C:\\' # d", "[x]\nf⟨key⟩ = s⟨'C:\\'⟩ c⟨# d⟩"},
		{"html", "<a href=\"x\">it's <!-- no\nyes --> b", "<a href=s⟨\"x\"⟩>it's c⟨<!-- no⟩\nc⟨yes -->⟩ b"},
		{"diff", "@@ -1 +1 @@\n-a\n+b\n c", "k⟨@@ -1 +1 @@⟩\nr⟨-a⟩\na⟨+b⟩\n c"},
		{"", "if x \"y\"", "if x \"y\""},
		{"klingon", "if x // y", "if x // y"},
		{"js", "const $a = `x ${\n1}` // é", "k⟨const⟩ $a = s⟨`x ${⟩\ns⟨1}`⟩ c⟨// é⟩"},
	} {
		if got := marked(c.language, c.code); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.language, got, c.want)
		}
	}
}

// TestCopyGoesOnByItself: a view scans the unfinished line again and again.
func TestCopyGoesOnByItself(t *testing.T) {
	s := New("go")
	s.Line("x := `open")
	tail := s
	if p := tail.Line("end` + y"); p[0].Kind != String || p[1].Kind != Plain {
		t.Errorf("the copy: %v", p)
	}
	if p := s.Line("still"); p[0].Kind != String {
		t.Errorf("after a copy has ended the string: %v", p)
	}
}

func FuzzLine(f *testing.F) {
	for _, language := range []string{"go", "py", "sh", "rs", "sql", "json", "yaml", "toml", "html", "css", "diff", "lua", "js"} {
		f.Add(language, "a 'b\\' \"c\" /* d\n*/ `e` # f -- g '''h''' <!-- \xff 12.5é")
	}
	f.Fuzz(func(t *testing.T, language, code string) {
		s := New(language)
		for _, line := range strings.Split(code, "\n") {
			var b strings.Builder
			for _, p := range s.Line(line) {
				if p.Text == "" || utf8.ValidString(line) && !utf8.ValidString(p.Text) {
					t.Fatalf("%q of %q is no piece", p.Text, line)
				}
				b.WriteString(p.Text)
			}
			if b.String() != line {
				t.Fatalf("%q came back as %q", line, b.String())
			}
		}
	})
}
