package limit

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestSimilarity(t *testing.T) {
	long := strings.Repeat("one two three four five six seven eight nine ten ", 6) // 10 runs of 3
	for _, tt := range []struct {
		a, b string
		want float64
	}{
		{"thank you, @arya!", "Thank  you @arya", 1},
		{"thank you @arya", "thank you @gendry", 0},
		{"a b c d", "a b c e", 1.0 / 3},
		{"a b c d e", "b c d", 1.0 / 3},
		{"c b a", "a b c", 0},
		{"ok", "OK.", 1},
		{"ok", "no", 0},
		{"ok ok", "ok", 0},
		{"", "", 1},
		{"👍", " 👍 ", 1},
		{"👍", "🎉", 0},
		{"...", "", 0},
		{"Größe ÄNDERN jetzt", "größe ändern JETZT", 1},
		{"谢谢你的帮助", "谢谢你的帮助。", 1},
		{"谢谢你的帮助", "不客气", 0},
		{"hop 41", "hop 42", 0},
		{long, long + "ten", 10.0 / 11},
		{"\xff\xfe", "\xff\xfe", 1},
	} {
		if got := Similarity(tt.a, tt.b); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%q and %q: %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if Similarity(tt.a, tt.b) != Similarity(tt.b, tt.a) {
			t.Errorf("%q and %q: not the same in the other direction", tt.a, tt.b)
		}
	}
}

func TestRepeats(t *testing.T) {
	talk := func(n int, text func(i int) string) []Said {
		var out []Said
		for i := range n {
			out = append(out, Said{[]string{"a", "b"}[i%2], text(i)})
		}
		return out
	}
	polite := func(i int) string { return []string{"@b thank you so much!", "@a you are welcome"}[i%2] }
	for name, tt := range map[string]struct {
		said []Said
		want bool
	}{
		"two polite ones":       {talk(6, polite), true},
		"short words":           {talk(6, func(i int) string { return []string{"@b tick", "@a tock"}[i%2] }), true},
		"too few to tell":       {talk(3, polite), false},
		"counting":              {talk(6, func(i int) string { return fmt.Sprintf("@x this is hop %d", i) }), false},
		"the last says more":    {append(talk(5, polite), Said{"b", "@a I found the bug in line 7"}), false},
		"the first said more":   {append([]Said{{"a", "@b please look at main.go"}, {"b", "@a it is fine"}}, talk(4, polite)...), false},
		"one alone":             {[]Said{{"a", "x"}, {"a", "x"}, {"a", "x"}, {"a", "x"}}, false},
		"three of them":         {[]Said{{"a", "x"}, {"b", "x"}, {"c", "x"}, {"a", "x"}, {"b", "x"}, {"c", "x"}}, false},
		"somebody else between": {[]Said{{"a", "x"}, {"b", "x"}, {"user", "x"}, {"b", "x"}, {"a", "x"}, {"b", "x"}}, false},
		"nobody":                {nil, false},
	} {
		if got := OnlyRepeats(tt.said); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzSimilarity(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "a b c d", "谢谢 ok", "\xff a \xfe b", "👍👍 👍"} {
		f.Add(s, "a b c")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		s := Similarity(a, b)
		switch {
		case s < 0 || s > 1 || math.IsNaN(s):
			t.Errorf("%q and %q: %v", a, b, s)
		case s != Similarity(b, a):
			t.Errorf("%q and %q: not the same in the other direction", a, b)
		case Similarity(a, a) != 1:
			t.Errorf("%q is not like itself", a)
		}
		said := []Said{{"x", a}, {"y", b}, {"x", a}, {"y", b}, {"x", a}, {"y", b}}
		if !OnlyRepeats(said) {
			t.Errorf("%q and %q again and again are no echo", a, b)
		}
		said[5].Text = a + " and now for something completely different " + b
		if OnlyRepeats(said) && Similarity(said[3].Text, said[5].Text) < same {
			t.Errorf("%q after %q is an echo", said[5].Text, b)
		}
	})
}
