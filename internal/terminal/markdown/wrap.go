package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"fika/internal/system/term"
)

// row is the content of one row of the terminal.
type row []span

func (w row) rowWidth() (n int) {
	for _, s := range w {
		n += term.Width(s.text)
	}
	return n
}

// wrapper fills rows with words.
type wrapper struct {
	most int
	rows []row
	row  row
	used int
	gap  row // spaces that are written only if a word follows on the row
	word row
	wide int // width of word
}

// wrapSpans breaks spans into rows of at most width columns: between words, between
// ideographs, and inside a word only if it is longer than a row.
func wrapSpans(spans []span, width int) []row {
	w := wrapper{most: max(1, width)}
	for _, s := range spans {
		w.addSpan(s)
	}
	w.endWord()
	return append(w.rows, w.row)
}

func (w *wrapper) addSpan(s span) {
	for rest := s.text; rest != ""; {
		n, width := firstCluster(rest)
		c := rest[:n]
		rest = rest[n:]
		piece := span{c, s.look, s.href}
		switch {
		case c == "\n":
			w.endWord()
			w.endRow()
		case c == " " || c == "\t":
			w.endWord()
			piece.text = " "
			w.gap = w.gap.withSpan(piece)
		default:
			if width == 2 && !closesWord(c) {
				w.endWord()
			}
			w.word = w.word.withSpan(piece)
			w.wide += width
			if width == 2 && !opensWord(c) {
				w.endWordUnless(rest)
			}
		}
	}
}

// withSpan appends a piece, merging it with the previous one if they have the same look
// and address.
func (w row) withSpan(s span) row {
	if n := len(w); n > 0 && w[n-1].look == s.look && w[n-1].href == s.href {
		w[n-1].text += s.text
		return w
	}
	return append(w, s)
}

// endWordUnless ends a word after an ideograph, unless the next character must not begin
// a row.
func (w *wrapper) endWordUnless(rest string) {
	if rest != "" {
		if n, _ := firstCluster(rest); closesWord(rest[:n]) {
			return
		}
	}
	w.endWord()
}

func closesWord(c string) bool {
	r, _ := utf8.DecodeRuneInString(c)
	return strings.ContainsRune("、。，．：；！？）」』】〉》〕｝ー,.:;!?)]}", r)
}

func opensWord(c string) bool {
	r, _ := utf8.DecodeRuneInString(c)
	return strings.ContainsRune("（「『【〈《〔｛", r)
}

func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	word, wide := w.word, w.wide
	w.word, w.wide = nil, 0
	gap := w.gap.rowWidth()
	if w.used+gap+wide > w.most && w.used > 0 {
		w.endRow()
		gap = 0
	}
	for _, s := range w.gap {
		w.row = w.row.withSpan(s)
	}
	w.used += gap
	w.gap = nil
	if w.used+wide <= w.most {
		for _, s := range word {
			w.row = w.row.withSpan(s)
		}
		w.used += wide
		return
	}
	w.chopWord(word)
}

// chopWord writes a word that is longer than a row.
func (w *wrapper) chopWord(word row) {
	for _, s := range word {
		for rest := s.text; rest != ""; {
			n, width := firstCluster(rest)
			if w.used+width > w.most && w.used > 0 {
				w.endRow()
			}
			w.row = w.row.withSpan(span{rest[:n], s.look, s.href})
			w.used += width
			rest = rest[n:]
		}
	}
}

func (w *wrapper) endRow() {
	w.rows = append(w.rows, w.row)
	w.row, w.used, w.gap = nil, 0, nil
}

// firstCluster returns the length and the columns of the first character of s, as a
// person perceives characters.
func firstCluster(s string) (n, width int) {
	if c := s[0]; c < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, 1
	}
	first, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return max(1, len(first)), width
}

// writeRow returns the row as terminal output. Each row is self-contained: it ends every
// style and link that it begins.
func (w row) writeRow(o Options) string {
	var b strings.Builder
	for _, s := range w {
		if s.text == "" {
			continue
		}
		href := s.href
		if !o.Links {
			href = ""
		}
		if href != "" {
			b.WriteString("\x1b]8;;" + href + "\x1b\\")
		}
		codes := ""
		if o.Style.IsOn() {
			codes = s.look.styleCodes()
		}
		if codes != "" {
			b.WriteString("\x1b[" + codes + "m" + s.text + "\x1b[0m")
		} else {
			b.WriteString(s.text)
		}
		if href != "" {
			b.WriteString("\x1b]8;;\x1b\\")
		}
	}
	return b.String()
}

// styleCodes returns the numbers of the escape sequence that turns a look on.
func (l look) styleCodes() string {
	var codes []string
	for _, c := range [...]struct {
		of   look
		code string
	}{{bold, "1"}, {faint, "2"}, {italic, "3"}, {underlined, "4"}, {crossed, "9"}, {code, "36"}, {person, "1;33"}, {green, "32"}, {magenta, "35"}, {red, "31"}} {
		if l&c.of != 0 {
			codes = append(codes, c.code)
		}
	}
	return strings.Join(codes, ";")
}

// cut returns the spans of the bytes of a row from one to another.
func (w row) cut(from, to int) row {
	var out row
	for _, s := range w {
		if a, b := max(0, from), min(len(s.text), to); a < b {
			out = append(out, span{text: s.text[a:b], look: s.look, href: s.href})
		}
		from, to = from-len(s.text), to-len(s.text)
	}
	return out
}
