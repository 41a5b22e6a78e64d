package mention

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fika"
	"fika/internal/text/spelling"
)

// maxRun bounds, in characters, how much is read after an @: no name is longer, and a
// run that was cut off does not become one.
const maxRun = 64

// findCandidates returns, in order and in lower case, the run after each @ that may
// begin a mention.
func findCandidates(prose []byte) []string {
	var runs []string
	scanProse(prose, func(run string, bound bool) {
		if !bound {
			runs = append(runs, run)
		}
	})
	return runs
}

// scanProse calls found with the run after each @, in order and in lower case. bound
// means that the text before the @ keeps it from beginning a mention.
func scanProse(prose []byte, found func(run string, bound bool)) {
	inURL := false
	for i, b := range prose {
		switch {
		case b <= ' ' || b == '<' || b == '>' || b == '"' || b == ')' || b == ']':
			inURL = false
		case b == ':' && bytes.HasPrefix(prose[i:], []byte("://")):
			inURL = true
		case b == '@':
			if run := nameRun(prose[i+1:]); run != "" {
				found(run, inURL || isAttached(prose[:i]))
			}
		}
	}
}

// isAttached reports whether the end of before binds the following @: the @ then
// belongs to an address or a path, or is escaped.
func isAttached(before []byte) bool {
	r, _ := utf8.DecodeLastRune(before)
	switch r {
	case '.', '/', '@', '_':
		return true
	case '\\':
		slashes := len(before) - len(bytes.TrimRight(before, `\`))
		return slashes%2 == 1
	case utf8.RuneError:
		return false
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !isSpaceless(r)
}

// isSpaceless reports whether r is in a script that puts no spaces between words,
// where a letter in front of an @ means nothing.
func isSpaceless(r rune) bool {
	return r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// nameRun returns the name characters at the start of s in lower case, without the
// backslash of an escaped '_' or '-'; "" if no name can begin there. It accepts
// letters of any script, because people have such names ([longestName]).
func nameRun(s []byte) string {
	var run []byte
	for i, n := 0, 0; i < len(s) && n < maxRun; i, n = i+1, n+1 {
		b := s[i]
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s[i:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (!unicode.IsMark(r) || len(run) == 0) {
				break
			}
			run = utf8.AppendRune(run, unicode.ToLower(r))
			i += size - 1
			continue
		}
		if b == '\\' && i+1 < len(s) && (s[i+1] == '_' || s[i+1] == '-') {
			i++
			b = s[i]
		}
		switch {
		case 'A' <= b && b <= 'Z':
			b += 'a' - 'A'
		case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		case (b == '_' || b == '-') && len(run) > 0:
		default:
			return string(run)
		}
		run = append(run, b)
	}
	return string(run)
}

// nearNames returns up to three agents whose names are one or two typing errors away
// from name, or begin with it, nearest first.
func nearNames(name string, agents []fika.AgentName) []fika.AgentName {
	type scored struct {
		name fika.AgentName
		d    int
	}
	var found []scored
	for _, a := range agents {
		switch d := spelling.Distance(name, string(a)); {
		case d <= 2 && 2*d <= len(name):
			found = append(found, scored{a, d})
		case len(name) >= 3 && strings.HasPrefix(string(a), name), len(a) >= 3 && strings.HasPrefix(name, string(a)):
			found = append(found, scored{a, 3})
		}
	}
	slices.SortFunc(found, func(x, y scored) int {
		return cmp.Or(cmp.Compare(x.d, y.d), strings.Compare(string(x.name), string(y.name)))
	})
	var out []fika.AgentName
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}
