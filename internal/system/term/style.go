package term

import "hash/fnv"

// Style puts weight and colour on text, or leaves it unchanged: the zero value does
// nothing. Get one from [Streams.OutStyle] or [Streams.ErrStyle].
type Style struct{ on bool }

// NewStyle returns a Style that works, or one that does nothing.
func NewStyle(on bool) Style { return Style{on: on} }

// IsOn reports whether the style does anything.
func (s Style) IsOn() bool { return s.on }

// Bold makes text bold.
func (s Style) Bold(text string) string { return s.wrapCodes("1", "22", text) }

// Dim makes text faint.
func (s Style) Dim(text string) string { return s.wrapCodes("2", "22", text) }

// Red is for failures.
func (s Style) Red(text string) string { return s.wrapCodes("31", "39", text) }

// Green is for things that are done.
func (s Style) Green(text string) string { return s.wrapCodes("32", "39", text) }

// Yellow is for things that need attention.
func (s Style) Yellow(text string) string { return s.wrapCodes("33", "39", text) }

// Person is for the mark of what the person has said.
func (s Style) Person(text string) string { return s.wrapCodes("36", "39", text) }

// speakerColors are 256-colour numbers that are legible on dark and on light backgrounds,
// without red and grey.
const speakerColors = "\x1b\x1d\x1e\x1f\x20\x3f\x40\x44\x62\x63\x81\x82\x84\x85\xa3\xa4"

// Speaker gives text the colour of name, which is always the same for a name.
func (s Style) Speaker(name, text string) string {
	if !s.on {
		return text
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	n := speakerColors[h.Sum32()%uint32(len(speakerColors))]
	return s.wrapCodes("38;5;"+itoa(int(n)), "39", text)
}

func (s Style) wrapCodes(on, off, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + on + "m" + text + "\x1b[" + off + "m"
}
