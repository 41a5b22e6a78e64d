package limit

import (
	"strings"
	"unicode"
)

const (
	// same is the similarity from which two texts count as saying the same.
	same = 0.9
	run  = 3 // number of words in a run
)

// Said is one message.
type Said struct {
	By   string
	Text string
}

// OnlyRepeats reports whether messages, given oldest first, alternate between two
// speakers each of whom says the same thing again and again. Fewer than four messages
// are never enough to tell.
func OnlyRepeats(said []Said) bool {
	if len(said) < 4 || said[0].By == said[1].By {
		return false
	}
	for i := 2; i < len(said); i++ {
		if said[i].By != said[i-2].By {
			return false
		}
	}
	before := make([]map[string]struct{}, 2) // what each speaker said last
	for i, s := range said {
		now := runs(s.Text)
		if i >= 2 && jaccard(before[i%2], now) < same {
			return false
		}
		before[i%2] = now
	}
	return true
}

// Similarity returns how similar two texts are, from 0 to 1: the number of runs of
// three words that both have, divided by the number that either has. Case,
// punctuation and spacing do not count. A text with fewer words is a single run; a
// text without words is compared as it stands.
func Similarity(a, b string) float64 { return jaccard(runs(a), runs(b)) }

func jaccard(a, b map[string]struct{}) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	both := 0
	for r := range a {
		if _, ok := b[r]; ok {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// runs returns the runs of words in a text; there is always at least one.
func runs(text string) map[string]struct{} {
	w := words(text)
	if len(w) < run {
		whole := strings.Join(w, " ")
		if whole == "" {
			whole = strings.Join(strings.Fields(text), " ")
		}
		return map[string]struct{}{whole: {}}
	}
	out := make(map[string]struct{}, len(w))
	for i := range len(w) - run + 1 {
		out[strings.Join(w[i:i+run], " ")] = struct{}{}
	}
	return out
}

// words splits a text at whatever is neither letter, mark nor digit. In scripts
// without spaces between words, each letter counts as a word.
func words(text string) []string {
	var out []string
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			end()
			out = append(out, string(r))
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
			b.WriteRune(unicode.ToLower(r))
		default:
			end()
		}
	}
	end()
	return out
}
