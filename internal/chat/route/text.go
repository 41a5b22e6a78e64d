package route

import (
	"strings"
	"unicode"
)

// maxWords bounds how many words of a text are read: a request states its purpose at the
// beginning, and a pasted log may be endless.
const maxWords = 400

// ask splits a prompt at the first empty line into what is asked and what was pasted
// after it.
func ask(prompt string) (asked, pasted string) {
	asked, pasted, _ = strings.Cut(strings.TrimSpace(prompt), "\n\n")
	return asked, pasted
}

// words returns the words of a text in lower case. "code-review" and "codeReview" are two
// words.
func words(text string) []string {
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	lower := false
	for _, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsMark(r)
		if !letter && !unicode.IsDigit(r) {
			if r != '\'' && r != '’' {
				end()
			}
			lower = false
			continue
		}
		if unicode.IsUpper(r) && lower {
			end()
		}
		lower = unicode.IsLower(r)
		word.WriteRune(r)
		if len(out) >= maxWords {
			break
		}
	}
	end()
	return out
}

// term is a word without its ending, or two in a row, and how it was written.
type term struct{ stem, written string }

// terms returns the significant words of a text, and each pair of consecutive ones, in
// order.
func terms(text string) []term {
	var out []term
	var before term
	for _, w := range words(text) {
		if isFiller(w) {
			continue
		}
		t := term{stem(w), w}
		if before.stem != "" {
			out = append(out, term{before.stem + "_" + t.stem, before.written + " " + w})
		}
		out = append(out, t)
		before = t
	}
	return out
}

// isFiller reports whether a word says nothing about what is to be done.
func isFiller(word string) bool {
	switch word {
	case "a", "an", "the", "this", "that", "these", "those", "it", "its", "there", "here",
		"i", "me", "my", "we", "us", "our", "you", "your", "they", "them", "their", "he", "she", "her", "his", "somebody", "someone", "anybody",
		"is", "are", "am", "be", "been", "was", "were", "do", "does", "did", "has", "had", "will", "would", "can", "could", "should", "shall", "must",
		"and", "or", "but", "if", "so", "as", "than", "then", "not", "no", "any", "some", "all", "each", "every", "too", "also", "just", "only", "now",
		"of", "in", "on", "at", "by", "for", "from", "to", "into", "with", "without", "about", "between", "please", "let", "lets", "want", "need", "needs":
		return true
	}
	return false
}

// endings are removed from words, the longest first. It matters little where a word is
// cut, as long as its forms are cut alike.
var endings = [...]string{"isations", "izations", "isation", "ization", "ations", "ation", "ments", "ings", "ment", "ions", "ers", "ors", "ing", "ion", "ed", "er", "or", "es", "ly", "s", "e"}

// stem removes the ending of an English word: review, reviews, reviewer and reviewing
// have the same stem.
func stem(word string) string {
	if rest, ok := strings.CutSuffix(word, "ies"); ok && len(rest) >= 3 {
		return rest + "y"
	}
	for range 2 { // reviewers: s, then er
		cut := word
		for _, e := range endings {
			if rest, ok := strings.CutSuffix(word, e); ok && len(rest) >= 3 && hasVowel(rest) && (e != "s" || !strings.HasSuffix(rest, "s")) {
				cut = rest
				break
			}
		}
		if cut == word {
			break
		}
		word = cut
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] && !strings.ContainsRune("aeiouls", rune(word[n-1])) {
		word = word[:n-1] // planner: plan
	}
	return word
}

func hasVowel(s string) bool { return strings.ContainsAny(s, "aeiouy") }
