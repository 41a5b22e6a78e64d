package store

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// word is one word of a text, folded (without case and accents) as SQLite's index
// folds it.
type word struct {
	text       string
	begin, end int // its place in the text
}

// split splits a text into words: runs of letters, digits and their combining marks.
func split(text string) []word {
	var out []word
	begin := -1
	for i, r := range text {
		inside := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) || begin >= 0 && unicode.Is(unicode.M, r)
		switch {
		case inside && begin < 0:
			begin = i
		case !inside && begin >= 0:
			out = append(out, word{fold(text[begin:i]), begin, i})
			begin = -1
		}
	}
	if begin >= 0 {
		out = append(out, word{fold(text[begin:]), begin, len(text)})
	}
	return out
}

func fold(w string) string {
	plain := true
	for i := range len(w) {
		plain = plain && w[i] < 0x80
	}
	if plain {
		return strings.ToLower(w)
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(w))
}

// The bounds of PostgreSQL's index for one text.
const (
	maxWord      = 2000
	maxWords     = 16_000
	maxWordBytes = 500_000
)

// wordsOf returns the words of a text as a tsvector.
func wordsOf(text string) string {
	var b strings.Builder
	for i, w := range split(text) {
		if i == maxWords || b.Len() > maxWordBytes {
			break
		}
		if len(w.text) > maxWord {
			continue
		}
		b.WriteString(" '")
		b.WriteString(w.text)
		b.WriteString("':")
		b.WriteString(strconv.Itoa(i + 1))
	}
	return strings.TrimPrefix(b.String(), " ")
}

// wordsQuery returns what a person typed as a tsquery: all words are required, those
// of one piece side by side, and a trailing * asks for a prefix. It returns "" if
// nothing can match.
func wordsQuery(typed string) string {
	var pieces []string
	for _, piece := range strings.FieldsFunc(typed, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		prefix := strings.HasSuffix(piece, "*")
		var side []string
		for _, w := range split(strings.TrimRight(piece, "*")) {
			side = append(side, "'"+w.text+"'")
		}
		if len(side) == 0 {
			continue
		}
		if prefix {
			side[len(side)-1] += ":*"
		}
		pieces = append(pieces, "("+strings.Join(side, " <-> ")+")")
	}
	return strings.Join(pieces, " & ")
}

// snippetWords is how many words of a text a search shows.
const snippetWords = 16

// snippet returns the part of a text around the first of the words that were typed.
func snippet(text, typed string) string {
	words, first := split(text), 0
	if len(words) <= snippetWords {
		return text
	}
	wanted := split(typed)
	for i, w := range words {
		if slices.ContainsFunc(wanted, func(x word) bool { return strings.HasPrefix(w.text, x.text) }) {
			first = i
			break
		}
	}
	first = max(0, min(first-snippetWords/4, len(words)-snippetWords))
	last := first + snippetWords - 1
	begin, before, end, after := words[first].begin, "…", words[last].end, "…"
	if first == 0 {
		begin, before = 0, ""
	}
	if last == len(words)-1 {
		end, after = len(text), ""
	}
	return before + text[begin:end] + after
}

// withoutPassword returns the name of a database in a form that may be shown.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the database of [store] url"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for _, k := range []string{"password", "sslpassword"} {
		q.Del(k)
	}
	u.RawQuery = q.Encode()
	return u.String()
}
