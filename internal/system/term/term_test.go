package term

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHuman(t *testing.T) {
	durations := map[time.Duration]string{
		0: "0s", 120 * time.Millisecond: "120ms", 3250 * time.Millisecond: "3.2s", 9*time.Second + 999*time.Millisecond: "9.9s",
		2 * time.Second: "2s", 42 * time.Second: "42s", 185 * time.Second: "3m 5s", 3 * time.Minute: "3m",
		83 * time.Minute: "1h 23m", 76 * time.Hour: "3d 4h", -time.Second: "-1s", math.MinInt64: "-0s",
	}
	for d, want := range durations {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	agos := map[time.Time]string{
		{}: "-", now: "just now", now.Add(-5 * time.Second): "5s ago", now.Add(-90 * time.Minute): "1h ago",
		now.Add(-80 * time.Hour): "3d ago", now.Add(5 * time.Minute): "in 5m",
	}
	for at, want := range agos {
		if got := Ago(at, now); got != want {
			t.Errorf("Ago(%v) = %q, want %q", at, got, want)
		}
	}
	counts := map[int64]string{
		0: "0", 999: "999", 1000: "1k", 1234: "1.2k", 9999: "9.9k", 12345: "12k", 999999: "999k", 3_400_000: "3.4M",
		5_600_000_000: "5.6G", math.MaxInt64: "9223372T", math.MinInt64: "-9223372T", -1500: "-1.5k",
	}
	for n, want := range counts {
		if got := ShortCount(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestColorWanted(t *testing.T) {
	tests := []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"NO_COLOR": "1"}, false},
		{map[string]string{"NO_COLOR": ""}, true},
		{map[string]string{"TERM": "dumb"}, false},
	}
	for _, tt := range tests {
		if got := colorWanted(func(k string) string { return tt.env[k] }); got != tt.want {
			t.Errorf("%v: %v", tt.env, got)
		}
	}
}

func TestStyle(t *testing.T) {
	s, _, _, _ := TestStreams()
	if got := s.OutStyle().Bold("x"); got != "x" {
		t.Errorf("without a terminal: %q", got)
	}
	s.Color, s.OutTTY = true, true
	if got := s.OutStyle().Red("x"); got != "\x1b[31mx\x1b[39m" {
		t.Errorf("red: %q", got)
	}
	if s.ErrStyle().IsOn() {
		t.Error("stderr is no terminal, yet it has colour")
	}
	on := NewStyle(true)
	if on.Speaker("arya", "x") == on.Speaker("bran", "x") {
		t.Error("a speaker's colour is not its own")
	}
	if got := Clean(on.Speaker("arya", "arya")); got != "arya" {
		t.Errorf("cleaned: %q", got)
	}
}

func TestTable(t *testing.T) {
	headers := []string{"Agent", "Status"}
	rows := [][]string{{"coder", "idle"}, {"日本", "busy\nnow"}, {"x"}, {"a", "b", "left out"}}
	want := "Agent  Status\ncoder  idle\n日本   busy now\nx\na      b\n"
	if diff := cmp.Diff(want, FormatTable(TableOptions{}, headers, rows)); diff != "" {
		t.Error(diff)
	}
	box := strings.Join([]string{
		"┌───────┬──────────┐",
		"│ Agent │ Status   │",
		"├───────┼──────────┤",
		"│ coder │ idle     │",
		"│ 日本  │ busy now │",
		"└───────┴──────────┘",
		"",
	}, "\n")
	if diff := cmp.Diff(box, FormatTable(TableOptions{Border: Box}, headers, rows[:2])); diff != "" {
		t.Error(diff)
	}
	if got := FormatTable(TableOptions{}, nil, rows); got != "" {
		t.Errorf("no headers: %q", got)
	}
}

func TestTableIsCutToTheTerminal(t *testing.T) {
	long := strings.Repeat("long 日本 ", 20)
	for _, border := range []Border{Plain, Box} {
		for width := 24; width < 60; width++ {
			text := FormatTable(TableOptions{Border: border, Width: width}, []string{"A", "B", "C"},
				[][]string{{"short", long, "\x1b[32m" + long + "\x1b[39m"}})
			for line := range strings.Lines(text) {
				if w := Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Fatalf("%d columns in a terminal of %d: %q", w, width, line)
				}
			}
			if !strings.Contains(text, "…") || width > 30 && !strings.Contains(text, "short") {
				t.Fatalf("width %d:\n%s", width, text)
			}
		}
	}
}

func TestStreamsTable(t *testing.T) {
	s, _, out, _ := TestStreams()
	if err := s.Table([]string{"A"}, [][]string{{strings.Repeat("x", 300)}}); err != nil {
		t.Fatal(err)
	}
	if want := "A\n" + strings.Repeat("x", 300) + "\n"; out.String() != want {
		t.Errorf("piped output is cut: %q", out.String())
	}
	out.Reset()
	s.OutTTY, s.Width = true, 20
	if err := s.BoxTable([]string{"A"}, [][]string{{strings.Repeat("x", 300)}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "…") {
		t.Errorf("not cut: %q", out.String())
	}
}

// TestD6Answer: the first failure is remembered, and nothing is written after
// it as if all were well.
func TestD6Answer(t *testing.T) {
	a := NewAnswer(failing{})
	if a.Err() != nil {
		t.Error("an answer begins with an error")
	}
	_, first := a.Write([]byte("x"))
	_, second := a.Write([]byte("y"))
	if first == nil || second != first || a.Err() != first {
		t.Errorf("got %v, then %v, kept %v", first, second, a.Err())
	}
}

func TestE11Dollars(t *testing.T) {
	for micro, want := range map[int64]string{0: "-", 12: "$0.000012", 4000: "$0.004", 4500: "$0.0045", 500_000: "$0.50", 999_999: "$1.00", 1_500_000: "$1.50", 12_300_000: "$12.30"} {
		if got := Dollars(micro); got != want {
			t.Errorf("%d: %s, not %s", micro, got, want)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }
