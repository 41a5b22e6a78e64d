package console

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// editor is the line being typed, which may contain newlines. pos is a byte offset,
// always between two grapheme clusters.
type editor struct {
	text   string
	pos    int
	killed string // what ctrl-k and the like cut last; ctrl-y puts it back

	// the range that is known to have been typed in one go; empty unless typedTo is pos
	typedFrom, typedTo int
}

func (e *editor) set(text string) {
	e.text, e.pos = text, len(text)
	e.forget()
}

// forget notes that the text before the cursor was not typed in one go.
func (e *editor) forget() { e.typedFrom, e.typedTo = e.pos, e.pos }

func (e *editor) insert(text string) {
	e.text = e.text[:e.pos] + text + e.text[e.pos:]
	e.pos += len(text)
	e.align()
	e.forget()
}

// align moves pos to the end of the cluster it is in, because a combining mark joins the
// letter before it.
func (e *editor) align() {
	for at := e.lineStart(e.pos); at < e.pos; {
		at = e.next(at)
		if at > e.pos {
			e.pos = at
		}
	}
}

// replace puts text in place of what is between from and pos.
func (e *editor) replace(from int, text string) {
	e.text = e.text[:from] + text + e.text[e.pos:]
	e.pos = from + len(text)
	e.align()
	e.forget()
}

func (e *editor) lineStart(pos int) int { return strings.LastIndexByte(e.text[:pos], '\n') + 1 }

func (e *editor) lineEnd(pos int) int {
	if i := strings.IndexByte(e.text[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(e.text)
}

// next returns the end of the cluster that begins at pos.
func (e *editor) next(pos int) int {
	if pos >= len(e.text) {
		return len(e.text)
	}
	return pos + clusterLen(e.text[pos:])
}

// prev returns the beginning of the cluster that ends at pos.
func (e *editor) prev(pos int) int {
	at := e.lineStart(pos)
	if at == pos {
		return max(0, pos-1) // over the newline
	}
	for {
		n := e.next(at)
		if n >= pos {
			return at
		}
		at = n
	}
}

// clusterLen returns the length of the first grapheme cluster or chip of s, at least one
// byte; s must not be empty.
func clusterLen(s string) int {
	if n := chipLen(s); n > 0 {
		return n
	}
	if c := s[0]; c < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1
	}
	c, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return max(1, len(c))
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

func (e *editor) wordLeft() int {
	p := strings.TrimRightFunc(e.text[:e.pos], func(r rune) bool { return !inWord(r) })
	return e.outside(len(strings.TrimRightFunc(p, inWord)), false)
}

func (e *editor) wordRight() int {
	p := strings.TrimLeftFunc(e.text[e.pos:], func(r rune) bool { return !inWord(r) })
	return e.outside(len(e.text)-len(strings.TrimLeftFunc(p, inWord)), true)
}

func (e *editor) spaceLeft() int {
	p := strings.TrimRightFunc(e.text[:e.pos], unicode.IsSpace)
	return e.outside(len(strings.TrimRightFunc(p, func(r rune) bool { return !unicode.IsSpace(r) })), false)
}

// cut removes the text between from and to; with kill it is kept for ctrl-y.
func (e *editor) cut(from, to int, kill bool) {
	if from == to {
		return
	}
	if kill {
		e.killed = e.text[from:to]
	}
	back := to == e.typedTo && to == e.pos && from >= e.typedFrom // erases backwards over typed text
	e.text = e.text[:from] + e.text[to:]
	e.pos = from
	e.align()
	if back && e.pos == from {
		e.typedTo = from
		return
	}
	e.forget()
}

// killEnd cuts to the end of the line or, at the end, the newline.
func (e *editor) killEnd() {
	end := e.lineEnd(e.pos)
	if end == e.pos {
		end = e.next(e.pos)
	}
	e.cut(e.pos, end, true)
}

func (e *editor) killStart() {
	start := e.lineStart(e.pos)
	if start == e.pos {
		start = e.prev(e.pos)
	}
	e.cut(start, e.pos, true)
}

// up moves to the line above; it returns false if there is none.
func (e *editor) up() bool {
	start := e.lineStart(e.pos)
	if start == 0 {
		return false
	}
	e.pos = e.column(e.lineStart(start-1), e.clusters(start, e.pos))
	return true
}

// down moves to the line below; it returns false if there is none.
func (e *editor) down() bool {
	end := e.lineEnd(e.pos)
	if end == len(e.text) {
		return false
	}
	e.pos = e.column(end+1, e.clusters(e.lineStart(e.pos), e.pos))
	return true
}

func (e *editor) clusters(from, to int) (n int) {
	for ; from < to; n++ {
		from = e.next(from)
	}
	return n
}

// column returns the offset of the n-th cluster of the line that begins at start, or the
// end of that line.
func (e *editor) column(start, n int) int {
	for ; n > 0 && start < len(e.text) && e.text[start] != '\n'; n-- {
		start = e.next(start)
	}
	return start
}

// apply performs a on the line; it returns false if a is no editing action or nothing
// changed.
func (e *editor) apply(a action) bool {
	before, pos := e.text, e.pos
	switch a {
	case actNewline:
		e.insert("\n")
	case actLeft:
		e.pos = e.prev(e.pos)
	case actRight:
		e.pos = e.next(e.pos)
	case actUp:
		return e.up()
	case actDown:
		return e.down()
	case actWordLeft:
		e.pos = e.wordLeft()
	case actWordRight:
		e.pos = e.wordRight()
	case actHome:
		e.pos = e.lineStart(e.pos)
	case actEnd:
		e.pos = e.lineEnd(e.pos)
	case actYank:
		e.insert(e.killed)
	default:
		e.erase(a)
	}
	return e.pos != pos || len(e.text) != len(before)
}

func (e *editor) erase(a action) {
	switch a {
	case actBackspace:
		e.cut(e.prev(e.pos), e.pos, false)
	case actDelete:
		e.cut(e.pos, e.next(e.pos), false)
	case actKillEnd:
		e.killEnd()
	case actKillStart:
		e.killStart()
	case actKillWordLeft:
		e.cut(e.wordLeft(), e.pos, true)
	case actKillWordRight:
		e.cut(e.pos, e.wordRight(), true)
	case actRubWord:
		e.cut(e.spaceLeft(), e.pos, true)
	}
}
