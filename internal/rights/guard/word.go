package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordOf removes the quotes of a word. The word is known if the shell changes nothing in
// it: no expansion, no pattern, no brace, no tilde.
func wordOf(w *syntax.Word) Word {
	if w == nil {
		return Word{Known: true}
	}
	var b strings.Builder
	known := true
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text, plain := unquoted(p.Value, i == 0)
			b.WriteString(text)
			known = known && plain
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			known = known && (!p.Dollar || !strings.Contains(p.Value, `\`))
		case *syntax.DblQuoted:
			text, plain := doubleQuoted(p)
			b.WriteString(text)
			known = known && plain
		default:
			known = false
		}
	}
	return Word{b.String(), known}
}

// unquoted reads an unquoted part of a word. It is plain if the shell replaces nothing
// in it.
func unquoted(s string, first bool) (text string, plain bool) {
	var b strings.Builder
	plain = !(first && strings.HasPrefix(s, "~"))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case '*', '?', '[':
			plain = plain && s == "[" // the command [
		case '{':
			plain = plain && s == "{}" // which find replaces with a name
		case '~':
			plain = plain && !strings.HasSuffix(b.String(), "=") && !strings.HasSuffix(b.String(), ":")
		}
		b.WriteByte(s[i])
	}
	return b.String(), plain
}

// doubleQuoted reads a part in double quotes, where a backslash is special only before $
// ` " \ and a newline.
func doubleQuoted(q *syntax.DblQuoted) (text string, plain bool) {
	var b strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return b.String(), false
		}
		for i := 0; i < len(lit.Value); i++ {
			c := lit.Value[i]
			if c == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\"\\\n", lit.Value[i+1]) >= 0 {
				i++
				if lit.Value[i] != '\n' {
					b.WriteByte(lit.Value[i])
				}
				continue
			}
			b.WriteByte(c)
		}
	}
	return b.String(), !q.Dollar
}
