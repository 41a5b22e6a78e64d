package term_test

import (
	"testing"

	"fika/internal/system/term"
)

// TestA9Retake: an attempt that repeats what was printed prints nothing twice,
// one that differs is printed when it has gone further or is complete.
func TestA9Retake(t *testing.T) {
	for name, c := range map[string]struct {
		attempts [][]string // the last one is complete
		want     string
	}{
		"one":               {[][]string{{"hello ", "you"}}, "hello you"},
		"the same":          {[][]string{{"hello "}, {"hel"}, {"hello "}, {"hel", "lo ", "you"}}, "hello you"},
		"another":           {[][]string{{"hello "}, {"good m"}, {"good ", "morning"}}, "hello good morning"},
		"shorter":           {[][]string{{"hello "}, {"hey"}}, "hello hey"},
		"cut to its start":  {[][]string{{"hello "}, {"hello"}}, "hello hello"},
		"exactly the same":  {[][]string{{"hello"}, {"hello"}}, "hello"},
		"further each time": {[][]string{{"a"}, {"ab"}, {"abc"}, {"abcd"}}, "abcd"},
		"nothing at first":  {[][]string{{}, {"hi"}}, "hi"},
	} {
		var r term.Retake
		got := ""
		for i, pieces := range c.attempts {
			if i > 0 {
				r.Restart()
			}
			for _, p := range pieces {
				got += r.Add(p)
			}
		}
		if got += r.Flush(); got != c.want {
			t.Errorf("%s: printed %q, want %q", name, got, c.want)
		}
	}
}
