package guard

import (
	"slices"
	"strings"
)

// grammar tells how a program takes options, in the notation of getopt(3): "ab:c::" are
// a, b with a value, and c with a value only if it is joined to it. Names of long options
// are separated by spaces; "name=" takes a value, "name=?" only one that is joined.
type grammar struct {
	short, long string
	// ends are options after which nothing is read as an option, such as python -m.
	ends string
	// anywhere means that options are also read behind operands.
	anywhere bool
}

// option is an option that was given, by its name without dashes.
type option struct {
	name  string
	value Word
}

// parsed is a command line read by a grammar.
type parsed struct {
	options  []option
	operands []Word
	at       int  // index in the words where the operands begin, unless they are anywhere
	unsure   bool // an option is not known, or a word is not that may be one
}

// parse reads the words behind the name of a program.
func (g grammar) parse(words []Word) parsed {
	var p parsed
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case !w.Known:
			p.unsure = true
			p.operands, p.at = append(p.operands, words[i:]...), i
			return p
		case w.Text == "--":
			p.operands, p.at = append(p.operands, words[i+1:]...), i+1
			return p
		case !strings.HasPrefix(w.Text, "-") || w.Text == "-":
			if !g.anywhere {
				p.operands, p.at = words[i:], i
				return p
			}
			p.operands = append(p.operands, w)
			continue
		}
		used, known := g.option(&p, words[i:])
		p.unsure = p.unsure || !known
		i += used - 1
		if last := len(p.options) - 1; last >= 0 && g.ends != "" && has(g.ends, p.options[last].name) {
			p.operands, p.at = words[i+1:], i+1
			return p
		}
	}
	p.at = len(words)
	return p
}

// option reads the options in the first of words, with a value in the next; it returns
// how many words they take.
func (g grammar) option(p *parsed, words []Word) (used int, known bool) {
	text := words[0].Text
	value := func() (Word, int) {
		if len(words) < 2 {
			return Word{}, 1
		}
		return words[1], 2
	}
	if long, ok := strings.CutPrefix(text, "--"); ok {
		name, joined, has := strings.Cut(long, "=")
		full, takes, ok := g.longOption(name)
		o, used := option{full, Word{joined, true}}, 1
		if ok && takes == "=" && !has {
			o.value, used = value()
		}
		p.options = append(p.options, o)
		return used, ok
	}
	for i := 1; i < len(text); i++ {
		at := strings.IndexByte(g.short, text[i])
		if at < 0 || text[i] == ':' {
			return 1, false
		}
		rest := g.short[at+1:]
		o := option{name: text[i : i+1], value: Word{Known: true}}
		switch {
		case strings.HasPrefix(rest, "::"), strings.HasPrefix(rest, ":") && i+1 < len(text):
			o.value.Text = text[i+1:]
			p.options = append(p.options, o)
			return 1, true
		case strings.HasPrefix(rest, ":"):
			o.value, used = value()
			p.options = append(p.options, o)
			return used, true
		}
		p.options = append(p.options, o)
	}
	return 1, true
}

// longOption finds a long option by its name or by a beginning that no other has, as
// getopt_long does.
func (g grammar) longOption(name string) (full, takes string, ok bool) {
	found := 0
	for _, l := range strings.Fields(g.long) {
		n := strings.TrimRight(l, "=?")
		if n == name {
			return n, l[len(n):], true
		}
		if strings.HasPrefix(n, name) {
			full, takes = n, l[len(n):]
			found++
		}
	}
	return full, takes, found == 1
}

// has reports whether a name is in a list that is separated by spaces.
func has(list, name string) bool {
	for one := range strings.FieldsSeq(list) {
		if one == name {
			return true
		}
	}
	return false
}

// given returns the last of the options in a list, and whether one was given.
func (p parsed) given(list string) (option, bool) {
	for _, o := range slices.Backward(p.options) {
		if has(list, o.name) {
			return o, true
		}
	}
	return option{}, false
}
