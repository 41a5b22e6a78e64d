package console

import (
	"strings"

	"fika/internal/system/term"
)

// A chip is a part of the line that stands for something, such as a file that a person
// has named: it is shown reversed, and the cursor moves over it and erases it as if it
// were one character. In the text of the editor it is chipStart, the chip's text,
// chipEnd. Neither mark can be typed or pasted, because control characters are removed
// from both.
const (
	chipStart = '\x01'
	chipEnd   = '\x02'
)

// Line is an entered line.
type Line struct {
	Text  string
	Chips []Span // in order
}

// Span is a part of a text, between two byte offsets.
type Span struct{ From, To int }

// asChip returns text as a chip; text must be one line, and not empty.
func asChip(text string) string { return string(chipStart) + text + string(chipEnd) }

// chipLen returns the length of the chip at the beginning of s, or 0 if there is none.
func chipLen(s string) int {
	if s == "" || s[0] != chipStart {
		return 0
	}
	return strings.IndexByte(s, chipEnd) + 1
}

// plain returns text with its chips as ordinary words.
func plain(text string) string {
	if strings.IndexByte(text, chipStart) < 0 {
		return text
	}
	return decode(text).Text
}

// decode converts a line of the editor to the public form.
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

// encode is the reverse of decode, for a line from outside the editor.
func encode(l Line) string {
	var b strings.Builder
	at := 0
	for _, c := range l.Chips {
		b.WriteString(typed(l.Text[at:c.From]))
		if chip := term.CleanLine(l.Text[c.From:c.To]); chip != "" {
			b.WriteString(asChip(chip))
		}
		at = c.To
	}
	return b.String() + typed(l.Text[at:])
}

// withChips is [typed] for a text that keeps its chips, as in the history.
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

// chipShown returns the chip at the beginning of s as it is displayed, in at most width
// columns.
func chipShown(s string, width int) string {
	return "\x1b[7m" + term.Truncate(s[1:chipLen(s)-1], width) + "\x1b[27m"
}

// outside returns at or, if at is inside a chip, the beginning of the chip, or its end
// with after.
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

// typeText is insert for text that was typed, not pasted or recalled; only typed words
// become chips by themselves.
func (e *editor) typeText(text string) {
	from := e.pos
	if e.typedTo == e.pos {
		from = e.typedFrom
	}
	e.insert(text)
	e.typedFrom, e.typedTo = from, e.pos
}

// complete is replace for a completion: a typed word that is completed still counts as
// typed.
func (e *editor) complete(from int, text string) {
	wasTyped, first := e.typedTo == e.pos && from >= e.typedFrom, e.typedFrom
	e.replace(from, text)
	if wasTyped {
		e.typedFrom, e.typedTo = first, e.pos
	}
}

// typedWord returns the word that ends at the cursor, if all of it was typed there in one
// go.
func (e *editor) typedWord() string {
	from := e.spaceLeft()
	if e.typedTo != e.pos || from < e.typedFrom || strings.IndexByte(e.text[from:e.pos], chipEnd) >= 0 {
		return ""
	}
	return e.text[from:e.pos]
}

// makeChip turns the first n bytes of the word that ends at the cursor into a chip.
func (e *editor) makeChip(n int) {
	from := e.spaceLeft()
	word := e.text[from:e.pos]
	e.replace(from, asChip(word[:n])+word[n:])
	e.typedFrom, e.typedTo = e.pos, e.pos
}
