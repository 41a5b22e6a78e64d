package tool

import (
	"unicode/utf8"
)

// isControl reports whether r is a control character other than newline and tab.
func isControl(r rune) bool {
	return (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r <= 0x9f)
}

// isBinary reports whether p, the beginning of an output, is not text: it contains a
// zero byte, or more than a quarter of it is invalid UTF-8 or unprintable.
func isBinary(p []byte) bool {
	p = trimEnd(p[:min(len(p), 8<<10)])
	bad, all := 0, 0
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case r == 0:
			return true
		case r == utf8.RuneError && n == 1, isControl(r) && r != '\r' && r != '\x1b' && r != '\b' && r != '\a' && r != '\f':
			bad++
		}
		all++
		p = p[n:]
	}
	return bad > 8 && bad*4 > all
}
