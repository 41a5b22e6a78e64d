package console

import (
	"strings"

	"fika/internal/term"
)

// A chip is a part of the line that stands for something, such as a file that a
// person has named: it is shown reversed, and the cursor goes over it and erases
// it as if it were one character. In the text of the editor it is chipStart, what
// it says, chipEnd. Neither can be typed or pasted, since control characters are
// taken out of both.
const (
	chipStart = '\x01'
	chipEnd   = '\x02'
)

// Line is what was entered.
type Line struct {
	Text  string
	Chips []Span // in their order
}

// Span is a part of a text, from one byte offset up to another.
type Span struct{ From, To int }

// asChip is text as a chip; it is one line, and not empty.
func asChip(text string) string { return string(chipStart) + text + string(chipEnd) }

// chipLen is the length of the chip that s begins with; 0: it begins with none.
func chipLen(s string) int {
	if s == "" || s[0] != chipStart {
		return 0
	}
	return strings.IndexByte(s, chipEnd) + 1
}

// plain is text with its chips as ordinary words.
func plain(text string) string {
	if strings.IndexByte(text, chipStart) < 0 {
		return text
	}
	return decode(text).Text
}

// decode gives a line of the editor as others know it.
func decode(text string) Line {
	var l Line
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, string(chipStart))
		b.WriteString(before)
		if !found {
			l.Text = b.String()
			return l
		}
		from := b.Len()
		chip, after, _ := strings.Cut(rest, string(chipEnd))
		b.WriteString(chip)
		l.Chips = append(l.Chips, Span{from, b.Len()})
		text = after
	}
}

// withChips is [typed] for a text whose chips stay, as the history has it.
func withChips(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, string(chipStart))
		b.WriteString(typed(before))
		if !found {
			return b.String()
		}
		chip, after, closed := strings.Cut(rest, string(chipEnd))
		if chip = term.CleanLine(chip); closed && chip != "" {
			b.WriteString(asChip(chip))
			rest = after
		}
		text = rest
	}
}

// chipShown is how the chip at the beginning of s looks in at most width columns.
func chipShown(s string, width int) string {
	return "\x1b[7m" + term.Truncate(s[1:chipLen(s)-1], width) + "\x1b[27m"
}

// outside is at, or where a chip begins (or ends, with after) that at is inside of.
func (e *editor) outside(at int, after bool) int {
	start := strings.LastIndexByte(e.text[:at], chipStart)
	if start < 0 || strings.IndexByte(e.text[start:at], chipEnd) >= 0 {
		return at
	}
	if after {
		return start + chipLen(e.text[start:])
	}
	return start
}

// typeText is insert for what was typed, and not pasted or recalled; only such
// words become chips by themselves.
func (e *editor) typeText(text string) {
	from := e.pos
	if e.typedTo == e.pos {
		from = e.typedFrom
	}
	e.insert(text)
	e.typedFrom, e.typedTo = from, e.pos
}

// complete is replace for a completion: what it completes stays typed.
func (e *editor) complete(from int, text string) {
	wasTyped, first := e.typedTo == e.pos && from >= e.typedFrom, e.typedFrom
	e.replace(from, text)
	if wasTyped {
		e.typedFrom, e.typedTo = first, e.pos
	}
}

// typedWord is the word that ends at the cursor, if every character of it was
// typed there in one go.
func (e *editor) typedWord() string {
	from := e.spaceLeft()
	if e.typedTo != e.pos || from < e.typedFrom || strings.IndexByte(e.text[from:e.pos], chipEnd) >= 0 {
		return ""
	}
	return e.text[from:e.pos]
}

// makeChip makes a chip of the first n bytes of the word that ends at the cursor.
func (e *editor) makeChip(n int) {
	from := e.spaceLeft()
	word := e.text[from:e.pos]
	e.replace(from, asChip(word[:n])+word[n:])
	e.typedFrom, e.typedTo = e.pos, e.pos
}
