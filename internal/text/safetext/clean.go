package safetext

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options says what [Options.Clean] leaves in a text. The zero value leaves only what can
// be seen.
type Options struct {
	// Styles keeps colour and weight: SGR sequences. It is for text that was assembled
	// from cleaned parts and styles; it must not be used on foreign text, because SGR can
	// also hide text.
	Styles bool
	// Links keeps OSC 8 sequences whose address begins with http://, https:// or mailto:.
	// It is for rendered text in which each link shows its address, because a link can
	// also hide one.
	Links bool
	// Invisible keeps bidi controls and invisible characters, for text that is stored or
	// compared, such as that of files, and shown elsewhere.
	Invisible bool
	// Returns replaces carriage returns with newlines; otherwise they are removed.
	Returns bool
}

// Clean makes untrusted text safe to print: it removes escape sequences (CSI, OSC, DCS,
// APC, PM, SOS and the short ones), all C0 controls except newline and tab, C1 controls,
// bidi controls and invisible characters. Joiners and variation selectors stay where a
// script or an emoji needs them. Line and paragraph separators become newlines, bytes
// that are not valid UTF-8 become U+FFFD.
//
// A string sequence (OSC and its like) that is never terminated swallows no more than the
// rest of its line. Cleaning is idempotent.
func Clean(s string) string { return Options{}.Clean(s) }

// Clean is [Clean], except for what the options keep.
func (o Options) Clean(s string) string {
	if isPlain(s) {
		return s
	}
	f := filter{Options: o}
	return string(f.feedBytes(make([]byte, 0, len(s)), []byte(s)))
}

// Line is Clean for a text that must stay on one line: newlines and tabs become spaces.
func Line(s string) string { return OneLine(Clean(s)) }

// Plain makes text fit to be stored and given to a model: it removes what drives a
// terminal and keeps every other character. Carriage returns become newlines.
func Plain(s string) string { return Options{Invisible: true, Returns: true}.Clean(s) }

// OneLine replaces newlines and tabs with spaces.
func OneLine(s string) string {
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}

// isPlain reports whether s consists of printable ASCII, newlines and tabs, as most text
// does.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// Cleaner passes text on as [Clean] would leave it, however it is split into writes.
// Close, which does not close the underlying writer, ends the text: it writes what an
// unfinished UTF-8 sequence becomes. A Cleaner is not safe for concurrent use.
type Cleaner struct {
	w    io.Writer
	f    filter
	rest []byte // an unfinished UTF-8 sequence, at most 3 bytes
	out  []byte
}

// NewCleaner returns a Cleaner that writes to w.
func NewCleaner(w io.Writer) *Cleaner { return &Cleaner{w: w} }

// Write cleans p and passes it on in one write. It returns len(p), and the error of the
// underlying writer.
func (c *Cleaner) Write(p []byte) (int, error) { return len(p), c.passOn(p, false) }

// Close ends the text. The Cleaner can then be used for another one.
func (c *Cleaner) Close() error {
	err := c.passOn(nil, true)
	c.f = filter{}
	return err
}

func (c *Cleaner) passOn(p []byte, last bool) error {
	src := p
	if len(c.rest) > 0 {
		src = append(c.rest, p...)
		c.rest = nil
	}
	end := len(src)
	if !last {
		end -= unfinishedBytes(src)
		c.rest = append([]byte(nil), src[end:]...)
	}
	c.out = c.f.feedBytes(c.out[:0], src[:end])
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.w.Write(c.out)
	if cap(c.out) > 1<<16 {
		c.out = nil
	}
	return err
}

// unfinishedBytes returns how many bytes at the end of p may become a rune when more
// bytes come.
func unfinishedBytes(p []byte) int {
	for n := 1; n <= min(3, len(p)); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// state is the position of a filter within an escape sequence.
type state uint8

const (
	inText      state = iota
	inEscape          // after ESC
	inShort           // after ESC and an intermediate: a final byte is missing
	inCSI             // after ESC [
	inString          // OSC, DCS, APC, PM, SOS: until ST or BEL
	inStringEsc       // ESC inside a string: ST or a new sequence
)

// filter is the state machine behind Clean and Cleaner.
type filter struct {
	Options
	state  state
	prev   rune   // the last rune kept, or a carriage return; joiners depend on it
	params []byte // of a CSI sequence if SGR is kept, or of an OSC one if links are
}

// feedBytes appends the clean form of src to dst. src must not end inside a UTF-8
// sequence unless the text ends there.
func (f *filter) feedBytes(dst, src []byte) []byte {
	for len(src) > 0 {
		r, size := utf8.DecodeRune(src)
		src = src[size:]
		if f.feedEscape(&dst, r) {
			continue
		}
		if kept := f.visibleRune(r); kept >= 0 {
			if f.prev = kept; r == '\r' {
				f.prev = r
			}
			dst = utf8.AppendRune(dst, kept)
		}
	}
	return dst
}

// feedEscape advances through escape sequences; it reports whether r was part of one. A
// rune that cannot belong to the sequence ends it and is text again.
func (f *filter) feedEscape(dst *[]byte, r rune) bool {
	switch f.state {
	case inStringEsc, inString:
		return f.feedString(dst, r)
	case inEscape:
		switch {
		case r == '[':
			f.state, f.params = inCSI, f.params[:0]
			return true
		case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
			f.state, f.params = inString, append(f.params[:0], byte(r))
			return true
		}
		return f.feedShort(dst, r)
	case inShort:
		return f.feedShort(dst, r)
	case inCSI:
		return f.feedCSI(dst, r)
	}
	switch r {
	case 0x1b:
		f.state = inEscape
		return true
	case 0x9b: // CSI in one character
		f.state, f.params = inCSI, f.params[:0]
		return true
	}
	return false
}

// feedString advances through a string sequence.
func (f *filter) feedString(dst *[]byte, r rune) bool {
	if f.state == inStringEsc {
		if r == '\\' {
			f.state = inText
			f.keepLink(dst)
			return true
		}
		f.state = inEscape
		return f.feedEscape(dst, r)
	}
	switch r {
	case 0x07, 0x18, 0x1a, 0x9c:
		f.state = inText
	case 0x1b:
		f.state = inStringEsc
	case '\n':
		f.state = inText
		return false
	default:
		if f.Links && len(f.params) <= maxLink { // beyond that, no link is kept
			f.params = utf8.AppendRune(f.params, r)
		}
	}
	return true
}

// maxLink bounds the length of a link that is kept, in bytes.
const maxLink = 2048

// keepLink keeps the sequence that has just ended if it begins or ends a link.
func (f *filter) keepLink(dst *[]byte) {
	if address, ok := strings.CutPrefix(string(f.params), "]8;;"); f.Links && ok && isLink(address) {
		*dst = append(append(append(*dst, "\x1b]8;;"...), address...), "\x1b\\"...)
	}
}

// Linkable reports whether an address may become a link: its scheme only opens a page or
// a letter, and it contains no character that is invisible or could be mistaken for
// another.
func Linkable(address string) bool { return address != "" && isLink(address) }

func isLink(address string) bool {
	if address == "" {
		return true // the end of one
	}
	scheme, rest, _ := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		if !strings.HasPrefix(rest, "//") {
			return false
		}
	case "mailto":
	default:
		return false
	}
	return len(address) <= maxLink-len("]8;;") && strings.IndexFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f }) < 0
}

func (f *filter) feedShort(dst *[]byte, r rune) bool {
	switch {
	case r >= 0x20 && r <= 0x2f:
		f.state = inShort
		return true
	case r >= 0x30 && r <= 0x7e:
		f.state = inText
		return true
	}
	f.state = inText
	return f.feedEscape(dst, r)
}

// maxParams bounds the length of an SGR sequence that is kept, in bytes.
const maxParams = 64

func (f *filter) feedCSI(dst *[]byte, r rune) bool {
	switch {
	case r >= 0x20 && r <= 0x3f:
		if f.Styles && len(f.params) <= maxParams {
			f.params = append(f.params, byte(r))
		}
		return true
	case r >= 0x40 && r <= 0x7e:
		f.state = inText
		if r == 'm' && f.Styles && isSGR(f.params) {
			*dst = append(append(append(*dst, "\x1b["...), f.params...), 'm')
		}
		return true
	}
	f.state = inText
	return f.feedEscape(dst, r)
}

func isSGR(params []byte) bool {
	for _, c := range params {
		if (c < '0' || c > '9') && c != ';' && c != ':' {
			return false
		}
	}
	return len(params) <= maxParams
}

// visibleRune returns the rune to print for r, or -1. It depends only on r and on the
// rune kept before it, so that cleaning is idempotent.
func (f *filter) visibleRune(r rune) rune {
	switch {
	case r == '\n' && f.prev == '\r' && f.Returns:
		f.prev = 0 // the carriage return was already written as a newline
		return -1
	case r == '\r' && f.Returns:
		return '\n'
	case r == '\n' || r == '\t':
		return r
	case r < 0x20 || r >= 0x7f && r <= 0x9f:
		return -1
	case r < 0x7f || f.Invisible:
		return r
	case r == 0x2028 || r == 0x2029:
		return '\n'
	case r == 0x200c || r == 0x200d: // joiners: scripts from Hebrew on, and emoji
		if f.prev >= 0x0590 && f.prev != 0x200c && f.prev != 0x200d {
			return r
		}
		return -1
	case r >= 0xfe00 && r <= 0xfe0f: // variation selectors: one, after a symbol
		if f.prev >= 0xa9 && !isSelector(f.prev) || f.prev >= '0' && f.prev <= '9' || f.prev == '#' || f.prev == '*' {
			return r
		}
		return -1
	case r >= 0xe0100 && r <= 0xe01ef: // ideographic variants
		if unicode.Is(unicode.Han, f.prev) {
			return r
		}
		return -1
	case isHidden(r):
		return -1
	}
	return r
}

func isSelector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r == 0x200c || r == 0x200d
}

// isHidden reports whether a character is invisible but changes what is read: bidi
// controls, zero-width spaces, tags, and deprecated format characters.
func isHidden(r rune) bool {
	switch r {
	case 0x00ad, 0x034f, 0x061c, 0x180e, 0x200b, 0x200e, 0x200f, 0xfeff:
		return true
	}
	return r >= 0x202a && r <= 0x202e ||
		r >= 0x2060 && r <= 0x206f ||
		r >= 0xfff9 && r <= 0xfffb ||
		r >= 0x1d173 && r <= 0x1d17a ||
		r >= 0xe0000 && r <= 0xe007f
}
