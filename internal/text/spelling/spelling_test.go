package spelling_test

import (
	"strings"
	"testing"

	"fika/internal/text/spelling"
)

func TestDistance(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"status", "status", 0},
		{"status", "staus", 1},
		{"status", "sttatus", 1},
		{"status", "stotus", 1},
		{"status", "sttaus", 1},
		{"status", "tstaus", 2},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
		{"Status", "status", 1},
		{long, long, 0},
		{long, "x", 65},
		{long[:64], "x", 63},
		{"ö", "o", 2},
	} {
		if got := spelling.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"chat", "context", "completion", "config", "max_depth", "up", "ls"}
	for word, want := range map[string]string{
		"caht": "chat", "CHAT": "chat", "contxet": "context", "complete": "completion", "confg": "config",
		"max-depth": "max_depth", "maxdepth": "max_depth", "uo": "up", "lss": "ls",
		"": "", "u": "", "chess": "", "please": "", "con": "", "hello": "", strings.Repeat("chat", 100): "",
	} {
		if got := spelling.Nearest(word, words); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := spelling.Nearest("chat", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	if got := spelling.Nearest("aab", []string{"aac", "aad"}); got != "aac" {
		t.Errorf("of equals: %q", got)
	}
}

// FuzzDistance: what any measure of words must do, and what one typo costs.
func FuzzDistance(f *testing.F) {
	for _, s := range [][2]string{{"", ""}, {"status", "sttaus"}, {"ab", "ba"}, {"\xff\x00", "é"}, {strings.Repeat("a", 64), strings.Repeat("b", 65)}} {
		f.Add(s[0], s[1], 3)
	}
	f.Fuzz(func(t *testing.T, a, b string, at int) {
		d := spelling.Distance(a, b)
		switch {
		case d != spelling.Distance(b, a):
			t.Errorf("%q and %q: not the same both ways", a, b)
		case (d == 0) != (a == b), d > max(len(a), len(b)), d < max(len(a), len(b))-min(len(a), len(b)):
			t.Errorf("%q and %q: %d", a, b, d)
		}
		if n := spelling.Nearest(a, []string{b}); n != "" && n != b {
			t.Errorf("%q: %q is no candidate", a, n)
		}
		if len(a) < 2 || len(a) > 60 || at < 0 {
			return
		}
		i := at % (len(a) - 1)
		swapped := []byte(a)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		for _, typo := range []string{a[:i] + a[i+1:], a[:i] + "x" + a[i:], a[:i] + "x" + a[i+1:], string(swapped)} {
			if n := spelling.Distance(a, typo); n > 1 || n == 0 && typo != a {
				t.Errorf("%q and %q: %d", a, typo, n)
			}
		}
	})
}

func BenchmarkNearest(b *testing.B) {
	words := []string{"run", "context", "plugin", "chat", "ask", "task", "request", "up", "down", "agent", "master", "monitor", "status", "usage", "conversation", "config", "model", "doctor", "completion", "version"}
	b.ReportAllocs()
	for b.Loop() {
		spelling.Nearest("conversatoin", words)
	}
}
