package store

import (
	"strings"
	"unicode/utf8"
)

// escapeRune introduces what PostgreSQL cannot store: U+0000 and bytes that are not
// valid UTF-8. It is in the private use area; doubled, it stands for itself.
const escapeRune = '\uF8FF'

// escape returns a text that any database can store; [unescape] reverses it.
func escape(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.ContainsRune(s, escapeRune) {
		return s
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == escapeRune:
			b.WriteRune(escapeRune)
			b.WriteRune(escapeRune)
		case r == 0 || r == utf8.RuneError && n == 1:
			b.WriteRune(escapeRune)
			b.WriteByte(hex[s[i]>>4])
			b.WriteByte(hex[s[i]&15])
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func unescape(s string) string {
	if !strings.ContainsRune(s, escapeRune) {
		return s
	}
	mark := string(escapeRune)
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, mark)
		b.WriteString(before)
		switch {
		case !found:
			return b.String()
		case strings.HasPrefix(after, mark):
			b.WriteString(mark)
			s = after[len(mark):]
		case len(after) >= 2:
			b.WriteByte(nibble(after[0])<<4 | nibble(after[1]))
			s = after[2:]
		default: // not written by escape
			b.WriteString(mark)
			s = after
		}
	}
}

func nibble(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}
