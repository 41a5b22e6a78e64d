package markdown

import (
	"strings"
	"testing"
)

func hostile() map[string]string {
	const size = 24 << 10
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"one line":          rep("x"),
		"one line of words": rep("word "),
		"newlines":          rep("\n"),
		"paragraph":         rep("some words in a line\n"),
		"quotes":            rep("> "),
		"quote lines":       rep("> > > a\n"),
		"lists":             rep("- "),
		"list":              rep("- a\n"),
		"deep list":         deepList(120),
		"brackets":          rep("["),
		"brackets closed":   rep("]"),
		"links":             rep("[a](b)"),
		"nested links":      rep("[a]("),
		"images":            rep("![a]("),
		"stars":             rep("*a **b "),
		"stars closed":      rep("*a_ "),
		"stars alone":       rep("*"),
		"strikes":           rep("~~a "),
		"backticks":         ticks(),
		"angles":            rep("<"),
		"tags":              rep("<a "),
		"comments":          rep("<!-- "),
		"fence":             "```\n" + rep("code\n"),
		"fences":            rep("```\nx\n```\n"),
		"fence line":        "```\n" + rep("x"),
		"table":             "| a | b |\n|---|---|\n" + rep("| 1 | 2 |\n"),
		"wide table":        rep("| a ") + "\n" + rep("|---") + "\n",
		"bars":              rep("|"),
		"entities":          rep("&amp;"),
		"ampersands":        rep("&"),
		"backslashes":       rep("\\"),
		"headings":          rep("# a\n"),
		"escapes":           rep("\x1b["),
		"wide":              rep("日本語"),
		"joined":            rep("👩\u200d"),
		"marks":             "a" + rep("\u0301"),
		"urls":              rep("https://"),
		"ats":               rep("@a"),
		"indented":          rep("     x\n"),
		"numbers":           rep("1. "),
		"html":              "<div>\n" + rep("a\n"),
	}
}

func deepList(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

func ticks() string {
	var b strings.Builder
	for i := 1; b.Len() < 24<<10; i++ {
		b.WriteString(strings.Repeat("`", i%1400) + "a")
	}
	return b.String()
}

// TestHostile streams what is made to be expensive: however much there is, no
// more than a block is held, and so parsed again. (That it ends is the rest of
// the test.)
func TestHostile(t *testing.T) {
	for name, text := range hostile() {
		s := NewStream(Options{Width: 40, Person: func(string) bool { return true }})
		shown := 0
		for rest := text; rest != ""; {
			cut := min(2<<10, len(rest))
			shown += len(s.Add(rest[:cut]))
			rest = rest[cut:]
			if held := len(s.pending) + len(s.partial); held > maxBlock+2*maxLine {
				t.Fatalf("%s: %d bytes are held", name, held)
			}
		}
		s.Tail().Rows(40, 8)
		if shown += len(s.End()); shown == 0 && name != "newlines" && name != "escapes" {
			t.Errorf("%s: nothing is shown", name)
		}
	}
}
