package tool

import (
	"strings"
	"unicode/utf8"
)

// Clean makes text fit to be shown and stored: valid UTF-8, no terminal
// escape sequences, no control characters but newline and tab. Carriage
// returns become newlines. Clean text is given back as it is.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\x1b':
			n = escapeLen(s[i:])
		case r == '\u009b': // CSI in one character
			n += csiLen(s[i+n:])
		case r == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case !control(r):
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func isClean(s string) bool {
	for i, r := range s {
		if control(r) {
			return false
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

func control(r rune) bool {
	return (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r <= 0x9f)
}

// escapeLen measures the escape sequence that s begins with. A string command
// (title, hyperlink, …) without its end is cut at the line's end, so that one
// stray byte cannot swallow an output.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch c := s[1]; {
	case c == '[':
		return 2 + csiLen(s[2:])
	case c == ']', c == 'P', c == 'X', c == '^', c == '_':
		for i := 2; i < len(s); i++ {
			switch s[i] {
			case '\a':
				return i + 1
			case '\n':
				return i
			case '\x1b':
				if i+1 < len(s) && s[i+1] == '\\' {
					return i + 2
				}
				return i
			}
		}
		return len(s)
	case c >= ' ' && c <= '/': // charset and the like: intermediates, one final
		i := 1
		for i < len(s) && s[i] >= ' ' && s[i] <= '/' {
			i++
		}
		if i < len(s) && s[i] >= '0' && s[i] <= '~' {
			i++
		}
		return i
	case c >= '0' && c <= '~':
		return 2
	}
	return 1
}

// csiLen measures the rest of a control sequence: parameters, intermediates
// and one final byte.
func csiLen(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '@' && c <= '~':
			return i + 1
		case c < ' ' || c > '?':
			return i
		}
	}
	return len(s)
}

// binary reports whether p, the beginning of an output, is no text: it has a
// zero byte, or more than a quarter of it is neither UTF-8 nor printable.
func binary(p []byte) bool {
	p = trimEnd(p[:min(len(p), 8<<10)])
	bad, all := 0, 0
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case r == 0:
			return true
		case r == utf8.RuneError && n == 1, control(r) && r != '\r' && r != '\x1b' && r != '\b' && r != '\a' && r != '\f':
			bad++
		}
		all++
		p = p[n:]
	}
	return bad > 8 && bad*4 > all
}
