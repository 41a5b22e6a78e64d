package guard

import (
	"path"
	"slices"
	"strings"
)

// Word is one word of a command with its quotes removed. A word that is not Known
// depends on what only the shell will know, and may become any number of words.
type Word struct {
	Text  string
	Known bool
}

// SimpleCommand is a command with its words, in bash's sense of the term, and what is
// known about what it does. Rules that ask or deny take whatever is not known for what
// they name; rules that allow never do.
type SimpleCommand struct {
	Words []Word
	// Also are other ways to write the same command, such as git push for git -C x push.
	Also [][]Word
	// Partial means that another command in the list decides what is allowed: the one
	// that this one runs, or the one that runs it. Only rules that ask or deny apply.
	Partial bool
	// Unsure means that anything may run: the words are not known, PATH or an alias is
	// changed, code comes from standard input, or the text could not be parsed.
	Unsure bool
	// Script means that what runs is the content of a file, which is named within the
	// first Named words. A rule that allows has to name it, and speaks for it then.
	Script bool
	// Named is how many words a rule that allows has to name: up to a script, or an
	// option that chooses another folder, another config or another program.
	Named int
	// Altered means that the text changes the variables or the folder in which the
	// command runs: what a rule allows there is not what it allows here.
	Altered bool
}

// String returns the command in one line, with ? for words that are not known.
func (c SimpleCommand) String() string {
	var out []string
	for _, w := range c.Words {
		if w.Known {
			out = append(out, w.Text)
		} else {
			out = append(out, "?")
		}
	}
	return strings.Join(out, " ")
}

// name returns the name of the program without its folder, or "" if it is not known.
func (c SimpleCommand) name() string {
	if len(c.Words) == 0 || !c.Words[0].Known {
		return ""
	}
	return path.Base(c.Words[0].Text)
}

// namesWords reports whether a pattern names any words, rather than every command.
func namesWords(pattern string) bool {
	words := strings.Fields(pattern)
	return len(words) > 0 && words[0] != "*"
}

// surelyMatches reports whether a pattern fits whatever the shell makes of the command.
func (c SimpleCommand) surelyMatches(pattern string) bool {
	if !namesWords(pattern) {
		return true
	}
	want := strings.Fields(pattern)
	open := want[len(want)-1] == "*"
	if open {
		want = want[:len(want)-1]
	}
	if c.Unsure || c.Altered && !(open && len(want) == 1 && isSteady(want[0])) {
		return false
	}
	if startsWith(c.Words, want, open) {
		return !open || len(want) >= c.Named
	}
	return c.Named == 0 && slices.ContainsFunc(c.Also, func(words []Word) bool { return startsWith(words, want, open) })
}

// startsWith reports whether words are those wanted, followed by others only if open.
func startsWith(words []Word, want []string, open bool) bool {
	if len(words) < len(want) || !open && len(words) > len(want) {
		return false
	}
	for i, w := range want {
		if !words[i].Known || words[i].Text != w {
			return false
		}
	}
	return true
}

// mayMatch reports whether a pattern fits anything that the shell could make of the
// words. Unless the pattern names a folder, that of the program is ignored.
func (c SimpleCommand) mayMatch(pattern string) bool {
	want := strings.Fields(pattern)
	if len(want) == 0 || c.Unsure {
		return true
	}
	return slices.ContainsFunc(slices.Concat(c.Also, [][]Word{c.Words}), func(words []Word) bool {
		if len(words) > 0 && words[0].Known && !strings.Contains(want[0], "/") {
			words = append([]Word{{path.Base(words[0].Text), true}}, words[1:]...)
		}
		return mayBecome(words, want)
	})
}

// mayBecome reports whether words match a pattern; unknown words stand for any number of
// words.
func mayBecome(words []Word, want []string) bool {
	open := len(want) > 0 && want[len(want)-1] == "*"
	if open {
		want = want[:len(want)-1]
	}
	reached := make([]bool, len(want)+1) // how many of want the words so far may be
	reached[0] = true
	for _, w := range words {
		if open && reached[len(want)] {
			return true
		}
		if !w.Known {
			for i := 1; i < len(reached); i++ {
				reached[i] = reached[i] || reached[i-1]
			}
			continue
		}
		for i := len(want); i > 0; i-- {
			reached[i] = reached[i-1] && want[i-1] == w.Text
		}
		reached[0] = false
	}
	return reached[len(want)]
}
