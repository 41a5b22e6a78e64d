package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says what a piece of code is.
type Kind uint8

// The kinds of pieces.
const (
	Plain Kind = iota
	Comment
	String
	Number
	Keyword
	Key     // of a setting or a field, in JSON, YAML, TOML
	Added   // a line of a diff
	Removed // a line of a diff
)

// Piece is a piece of a line.
type Piece struct {
	Text string
	Kind Kind
}

// Scanner scans the lines of a text, in order. A copy goes on by itself from where the
// scanner was. The zero value knows no language. Not safe for concurrent use.
type Scanner struct {
	g *grammar
	// open is what ends the comment or string in which the last line ended; empty: none.
	open     string
	openKind Kind
}

// New returns a scanner for a language, as it is named after the fence of a block of
// Markdown: its name or the extension of its files, in any case.
func New(language string) Scanner {
	return Scanner{g: grammarOf(strings.ToLower(language))}
}

// Known reports whether the scanner knows the language.
func (s *Scanner) Known() bool { return s.g != nil }

// Line returns the pieces of the next line, which together are the line. A line of an
// unknown language is one plain piece.
func (s *Scanner) Line(line string) []Piece {
	p := pieces{}
	switch {
	case s.g == nil:
		p.add(line, Plain)
	case s.g.diff:
		p.add(line, diffKind(line))
	default:
		s.scan(line, &p)
	}
	return p
}

func diffKind(line string) Kind {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"):
		return Keyword
	case strings.HasPrefix(line, "+"):
		return Added
	case strings.HasPrefix(line, "-"):
		return Removed
	}
	return Plain
}

type pieces []Piece

func (p *pieces) add(text string, k Kind) {
	if text == "" {
		return
	}
	if n := len(*p); n > 0 && (*p)[n-1].Kind == k {
		(*p)[n-1].Text += text
		return
	}
	*p = append(*p, Piece{text, k})
}

func (s *Scanner) scan(line string, p *pieces) {
	before := ' ' // the rune before rest
	for rest := line; rest != ""; {
		n, kind := s.next(rest, before, len(rest) == len(line))
		p.add(rest[:n], kind)
		before, _ = utf8.DecodeLastRuneInString(rest[:n])
		rest = rest[n:]
	}
}

// next returns the length of the piece with which rest begins, and what it is.
func (s *Scanner) next(rest string, before rune, first bool) (int, Kind) {
	if s.open != "" {
		return s.takeOpen(rest, 0)
	}
	for _, mark := range s.g.line {
		// A # in the middle of a word is part of the word.
		if strings.HasPrefix(rest, mark) && (mark != "#" || first || unicode.IsSpace(before) || before == ';') {
			return len(rest), Comment
		}
	}
	if s.g.block[0] != "" && strings.HasPrefix(rest, s.g.block[0]) {
		s.open, s.openKind = s.g.block[1], Comment
		return s.takeOpen(rest, len(s.g.block[0]))
	}
	for _, mark := range s.g.long {
		if strings.HasPrefix(rest, mark) {
			s.open, s.openKind = mark, String
			return s.takeOpen(rest, len(mark))
		}
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case strings.ContainsRune(s.g.quotes, r):
		return s.takeString(rest)
	case r == '\'' && s.g.char:
		return takeChar(rest)
	case unicode.IsDigit(r):
		return wordLength(rest, "."), Number
	case isWord(r):
		return s.takeWord(rest)
	}
	return size, Plain
}

// takeOpen goes on in a comment or string that may span lines, whose first from bytes are
// known to belong to it.
func (s *Scanner) takeOpen(rest string, from int) (int, Kind) {
	kind := s.openKind
	for i := from; i < len(rest); i++ {
		if rest[i] == '\\' && kind == String && !strings.Contains(s.g.raw, s.open) {
			i++
			continue
		}
		if strings.HasPrefix(rest[i:], s.open) {
			n := i + len(s.open)
			s.open = ""
			return n, kind
		}
	}
	return len(rest), kind
}

// takeString takes a string that ends with the line at the latest.
func (s *Scanner) takeString(rest string) (int, Kind) {
	quote, n := rest[0], len(rest)
	for i := 1; i < len(rest); i++ {
		if rest[i] == '\\' && !strings.Contains(s.g.raw, string(quote)) {
			i++
		} else if rest[i] == quote {
			n = i + 1
			break
		}
	}
	if s.g.key != "" && strings.HasPrefix(strings.TrimLeft(rest[n:], " "), s.g.key) {
		return n, Key
	}
	return n, String
}

// takeChar takes a character between single quotes; a single quote that begins none, as
// that of a lifetime in Rust, is plain.
func takeChar(rest string) (int, Kind) {
	body := strings.TrimPrefix(rest[1:], `\`)
	_, size := utf8.DecodeRuneInString(body)
	if end := strings.IndexByte(body[size:], '\''); end == 0 || end > 0 && len(body) < len(rest)-1 {
		return len(rest) - len(body) + size + end + 1, String
	}
	return 1, Plain
}

func (s *Scanner) takeWord(rest string) (int, Kind) {
	n := wordLength(rest, s.g.inWord)
	word := rest[:n]
	if s.g.key != "" && strings.HasPrefix(strings.TrimLeft(rest[n:], " "), s.g.key) {
		return n, Key
	}
	if s.g.fold {
		word = strings.ToLower(word)
	}
	if strings.Contains(s.g.words, " "+word+" ") {
		return n, Keyword
	}
	return n, Plain
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// wordLength returns how many bytes of text are letters, digits or among more.
func wordLength(text, more string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !isWord(r) && !strings.ContainsRune(more, r) })
	if n < 0 {
		return len(text)
	}
	return n
}
