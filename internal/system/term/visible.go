package term

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible shows a text so that nothing in it can hide: lines stay lines, and what could
// be overlooked or taken for something else is written out, as in \u{202e}: escapes and
// other control characters, spaces other than the usual one, characters that change the
// writing direction or have no width, and letters and marks that look like those of
// ASCII but are others, as in p\u{430}ypal.
func Visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	foreign := isForeign(s)
	var word []rune
	endWord := func() {
		mixed := false
		for _, r := range word {
			mixed = mixed || unicode.Is(unicode.Latin, r)
		}
		for _, r := range word {
			if strings.ContainsRune(lookAlikeLetters, r) && (mixed || !foreign) {
				fmt.Fprintf(&b, "\\u{%x}", r)
			} else {
				b.WriteRune(r)
			}
		}
		word = word[:0]
	}
	for _, r := range s {
		if unicode.IsLetter(r) && !isHidden(r) {
			word = append(word, r)
			continue
		}
		endWord()
		if isHidden(r) {
			fmt.Fprintf(&b, "\\u{%x}", r)
		} else {
			b.WriteRune(r)
		}
	}
	endWord()
	return b.String()
}

// The letters of other scripts that look like letters of ASCII, and the marks that look
// like marks with a meaning in a command or a path.
const (
	lookAlikeLetters = "аеорсухіјѕһԁԛԝѵӏАВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧοιν"
	lookAlikeMarks   = "\u037e\u2010\u2011\u2012\u2024\u2044\u2212\u2215\u2216\u2223\u2236\u29f5\u29f8\ua789"
)

// isHidden reports whether a character would not be seen, or be taken for another,
// wherever it is.
func isHidden(r rune) bool {
	switch r {
	case '\n', '\t', ' ':
		return false
	case '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800', '\u034f', '\u180e':
		return true
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Zs, unicode.Variation_Selector) && !isEmojiPart(r) ||
		r >= '\uff01' && r <= '\uff5e' || strings.ContainsRune(lookAlikeMarks, r)
}

// isEmojiPart reports whether a character without width is an ordinary part of an emoji.
func isEmojiPart(r rune) bool { return r == '\ufe0f' }

// isForeign reports whether a text is openly written in a script whose letters look like
// those of ASCII: some of its letters look like nothing in ASCII.
func isForeign(s string) bool {
	for _, r := range s {
		if unicode.In(r, unicode.Cyrillic, unicode.Greek) && !strings.ContainsRune(lookAlikeLetters, r) {
			return true
		}
	}
	return false
}
