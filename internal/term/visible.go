package term

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible shows a text so that nothing in it can hide: lines stay lines, and escapes,
// other control characters, and characters that change the writing direction or have no
// width are written out, as in \u{202e}.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0':
			fmt.Fprintf(&b, "\\u{%x}", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
