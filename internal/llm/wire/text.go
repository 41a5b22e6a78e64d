package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a JSON value read leniently as text: a string as itself, null as nothing, a
// list as its parts joined (a part is a string or an object with a text), anything else
// as its JSON. Broken characters are kept as they came, because the missing half may be
// in the next piece: pass them through a [Joiner].
type Text string

// UnmarshalJSON implements [json.Unmarshaler]; it never refuses valid JSON.
func (t *Text) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		*t = ""
	case raw[0] == '"':
		*t = Text(unquoteJSON(raw))
	case raw[0] == '[':
		*t = Text(joinedParts(raw))
	default:
		*t = Text(raw)
	}
	return nil
}

func joinedParts(raw []byte) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var b strings.Builder
	for _, item := range list {
		if len(item) > 0 && item[0] == '{' {
			var part struct {
				Text Text `json:"text"`
			}
			if json.Unmarshal(item, &part) == nil {
				b.WriteString(string(part.Text))
			}
			continue
		}
		var s Text
		if s.UnmarshalJSON(item) == nil {
			b.WriteString(string(s))
		}
	}
	return b.String()
}

// unquoteJSON decodes a valid JSON string. Invalid UTF-8 stays as it is; a lone
// surrogate half becomes its three-byte form.
func unquoteJSON(raw []byte) string {
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n := unicodeEscape(raw[i+1:])
			i += n
			out = appendHalf(out, r)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// unicodeEscape decodes the hex digits after \u, and the second half of a pair if it
// follows; n is how many bytes it consumed.
func unicodeEscape(b []byte) (r rune, n int) {
	r, ok := hex4(b)
	if !ok {
		return utf8.RuneError, 0
	}
	if utf16.IsSurrogate(r) && len(b) >= 10 && b[4] == '\\' && b[5] == 'u' {
		if low, ok := hex4(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 10
			}
		}
	}
	return r, 4
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[:4]), 16, 32)
	return rune(v), err == nil
}

func appendHalf(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(out, r)
}

// surrogateHalf decodes a surrogate half in its three-byte form.
func surrogateHalf(b []byte) (rune, bool) {
	if len(b) < 3 || b[0] != 0xED || b[1] < 0xA0 || b[1] > 0xBF || b[2]&0xC0 != 0x80 {
		return 0, false
	}
	return rune(b[0]&0x0F)<<12 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F), true
}

// Joiner gathers pieces of text that may be cut in the middle of a character.
// The zero Joiner is ready.
type Joiner struct {
	done strings.Builder
	rest []byte // the start of a character
}

// Add takes a piece and returns as much of the text as can be shown now: whole
// characters, always valid UTF-8.
func (j *Joiner) Add(piece Text) string {
	if len(j.rest) == 0 && utf8.ValidString(string(piece)) {
		j.done.WriteString(string(piece))
		return string(piece)
	}
	j.rest = append(j.rest, piece...)
	return j.takeWhole(false)
}

// Close returns the bytes that still waited for their other half, made valid.
func (j *Joiner) Close() string { return j.takeWhole(true) }

// String returns everything gathered.
func (j *Joiner) String() string { return j.done.String() }

// Len returns the number of bytes held.
func (j *Joiner) Len() int { return j.done.Len() + len(j.rest) }

func (j *Joiner) takeWhole(last bool) string {
	var out []byte
	b := j.rest
	for len(b) > 0 {
		if high, ok := surrogateHalf(b); ok {
			if low, ok := surrogateHalf(b[3:]); ok {
				if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
					out, b = utf8.AppendRune(out, r), b[6:]
					continue
				}
			}
			if !last && high < 0xDC00 && halfMayFollow(b[3:]) {
				break
			}
			out, b = utf8.AppendRune(out, utf8.RuneError), b[3:]
			continue
		}
		if !last && (!utf8.FullRune(b) || mayBeHalf(b)) {
			break
		}
		r, n := utf8.DecodeRune(b)
		out, b = utf8.AppendRune(out, r), b[n:]
	}
	j.rest = append(j.rest[:0], b...)
	j.done.Write(out)
	return string(out)
}

// halfMayFollow reports whether b may be the start of a surrogate half.
func halfMayFollow(b []byte) bool { return len(b) == 0 || mayBeHalf(b) }

func mayBeHalf(b []byte) bool {
	return len(b) < 3 && b[0] == 0xED && (len(b) == 1 || b[1] >= 0xA0 && b[1] <= 0xBF)
}
