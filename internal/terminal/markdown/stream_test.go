package markdown

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"fika/internal/system/term"
)

// streamed gives the text in pieces whose lengths next decides, looking at the
// tail in between, which must change nothing.
func streamed(text string, o Options, next func() int) string {
	s := NewStream(o)
	var b strings.Builder
	for text != "" {
		n := min(max(1, next()), len(text))
		b.WriteString(s.Add(text[:n]))
		s.Tail().Rows(33, 4)
		text = text[n:]
	}
	return b.String() + s.End()
}

// check holds a text against everything that must be true of any.
func check(t *testing.T, text string, sizes func() int) {
	t.Helper()
	plain := Options{Width: 40}
	want := Render(text, plain)
	if got := streamed(text, plain, sizes); got != want {
		t.Errorf("in pieces, %.300q gives\n%.600s\nat once\n%.600s", text, got, want)
	}
	if want != term.Clean(want) {
		t.Errorf("%.300q is not clean without styles: %.600q", text, want)
	}
	styled := Render(text, Options{Width: 40, Style: term.NewStyle(true), Links: true})
	if styled != term.CleanLinked(styled) {
		t.Errorf("%.300q is not clean with styles: %.600q", text, styled)
	}
	if strings.Contains(styled, "\x1b]8;;") && strings.Count(styled, "\x1b]8;;")%2 != 0 {
		t.Errorf("%.300q leaves a link open: %.600q", text, styled)
	}
}

// agrees holds a Stream against a parser that sees all of the text at once.
func agrees(t *testing.T, text string) {
	t.Helper()
	text = term.Clean(text)
	for _, line := range strings.Split(text, "\n") {
		if plainLine(line) != line || len(line) > maxLine {
			return // beyond the bounds
		}
	}
	if len(text) > maxBlock {
		return
	}
	o := Options{Width: 40}
	if got, want := Render(text, o), whole(text, o); got != want {
		t.Errorf("as a stream %.300q gives\n%s\nas a whole\n%s", text, got, want)
	}
}

func sizesFrom(seed uint64) func() int {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() int { return 1 + r.IntN(1+r.IntN(30)) }
}

// fragments are what Markdown is made of, and what is thrown at it.
var fragments = strings.Split("- a|* b|+ c|1. d|2) e|10. f|   |    |  |\t|\n|\n\n|> |>|# h|### |```|```go|~~~|````|---|***|===|- - -|`x`|``|**b**|*|_i_|~~s~~|[a](b)|[a]: b|![i](u)|<b>|<br>|<div>|</div>|<!--|-->|<?php|https://x.y|<https://x>|&amp;|&#27;[31m|&#x202e;|\\|\\*|plain text|日本語|👩‍👩‍👧|é|¦ a ¦ b ¦|¦---¦---¦|a ¦ b|:-: ¦ -:|\x1b[31m|\x1b]0;t\x07|\x1b]8;;https://evil\x1b\\|\u202e|\x00|\xff|\r\n|@bob", "|")

func compose(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(25) {
		b.WriteString(strings.ReplaceAll(fragments[r.IntN(len(fragments))], "¦", "|"))
		if r.IntN(3) == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func TestStreamIsTheWhole(t *testing.T) {
	files := []string{sample}
	for _, name := range []string{"../../../README.md", "../../../docs/internals/architecture.md", "../../../docs/internals/threads.md", "../../../docs/reference/cli/chat.md"} {
		if data, err := os.ReadFile(name); err == nil {
			files = append(files, string(data))
		}
	}
	if len(files) < 3 {
		t.Error("the pages of the project are not where they were")
	}
	for i, text := range files {
		check(t, text, sizesFrom(uint64(i)))
		o := Options{Width: 50}
		if got, want := Render(text, o), whole(text, o); got != want {
			t.Errorf("file %d differs between stream and whole: %s", i, firstDifference(got, want))
		}
	}
	seeds := uint64(1500)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		text := compose(rand.New(rand.NewPCG(seed, 2)))
		check(t, text, sizesFrom(seed))
		agrees(t, text)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func firstDifference(a, b string) string {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(la), len(lb)) {
		if la[i] != lb[i] {
			return strings.Join(la[max(0, i-3):i+1], "\n") + "\n--- against\n" + lb[i]
		}
	}
	return "one ends before the other"
}

func FuzzStream(f *testing.F) {
	f.Add(sample, uint64(1))
	for seed := range uint64(40) {
		f.Add(compose(rand.New(rand.NewPCG(seed, 3))), seed)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 4<<10 {
			return
		}
		check(t, text, sizesFrom(seed))
		agrees(t, text)
	})
}
