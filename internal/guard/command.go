package guard

import (
	"path"
	"strings"
)

// Word is one word of a command with its quotes removed. A word that is not Known
// depends on what only the shell will know, and may become any number of words.
type Word struct {
	Text  string
	Known bool
}

// SimpleCommand is a command with its words, in bash's sense of the term.
type SimpleCommand struct {
	Words   []Word
	Wrapper bool // it runs another command, which is also in the list
	// Unsure means that what runs may not be what the words say: PATH or an alias was
	// changed, code is evaluated, or the text could not be parsed.
	Unsure bool
	// Elsewhere means that the program's relative path starts from a folder that the
	// text has changed to.
	Elsewhere bool
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

// surelyMatches reports whether a pattern fits whatever the shell makes of the command.
func (c SimpleCommand) surelyMatches(pattern string) bool {
	want := strings.Fields(pattern)
	open := len(want) > 0 && want[len(want)-1] == "*"
	if open {
		want = want[:len(want)-1]
	}
	if len(want) == 0 {
		return true // * or nothing: any command at all
	}
	if c.Unsure || c.Elsewhere || len(c.Words) < len(want) || !open && len(c.Words) > len(want) {
		return false
	}
	for i, w := range want {
		if !c.Words[i].Known || c.Words[i].Text != w {
			return false
		}
	}
	return true
}

// mayMatch reports whether a pattern fits anything that the shell could make of the
// command. Unless the pattern names a folder, that of the program is ignored.
func (c SimpleCommand) mayMatch(pattern string) bool {
	want := strings.Fields(pattern)
	if len(want) == 0 || c.Unsure {
		return true
	}
	words := c.Words
	if len(words) > 0 && words[0].Known && !strings.Contains(want[0], "/") {
		words = append([]Word{{path.Base(words[0].Text), true}}, words[1:]...)
	}
	return mayBecome(words, want)
}

// mayBecome reports whether words match a pattern; unknown words stand for any number of
// words.
func mayBecome(words []Word, want []string) bool {
	switch {
	case len(want) == 1 && want[0] == "*":
		return true
	case len(words) == 0:
		return len(want) == 0
	case !words[0].Known:
		return mayBecome(words[1:], want) || len(want) > 0 && mayBecome(words, want[1:])
	case len(want) == 0 || words[0].Text != want[0]:
		return false
	}
	return mayBecome(words[1:], want[1:])
}

// unwrap returns the command that c runs, if c is a wrapper: the words after the
// wrapper's own, or code that a shell will read.
func (c SimpleCommand) unwrap() (inner []SimpleCommand, code []string) {
	if len(c.Words) == 0 || !c.Words[0].Known {
		return nil, nil
	}
	name := path.Base(c.Words[0].Text)
	if isShell(name) {
		return nil, c.shellCode()
	}
	switch name {
	case "find":
		return c.findCommands(), nil
	case "trap":
		if len(c.Words) > 1 && c.Words[1].Known && !strings.HasPrefix(c.Words[1].Text, "-") {
			return nil, []string{c.Words[1].Text}
		}
		return nil, nil
	}
	w, ok := wrapperOf(name)
	if !ok {
		return nil, nil
	}
	rest, unsure := w.skip(c.Words[1:])
	if len(rest) == 0 && !unsure {
		return nil, nil
	}
	in := SimpleCommand{Words: rest, Unsure: c.Unsure || unsure}
	if w.more {
		in.Words = append(append([]Word{}, rest...), Word{})
	}
	return []SimpleCommand{in}, nil
}

// wrapper describes how a program that runs another takes its own words: options with a
// value, and words before the command.
type wrapper struct {
	valued  string // short options with a value in the next word
	long    []string
	before  int  // words before the command
	assigns bool // NAME=value words before it
	more    bool // further words are appended to the command
}

// wrapperOf returns how a program that runs another is called, and false for other
// programs.
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "env":
		return wrapper{valued: "uCS", long: []string{"--unset", "--chdir", "--split-string"}, assigns: true}, true
	case "sudo":
		return wrapper{valued: "ugpCchrtTRD", assigns: true}, true
	case "doas":
		return wrapper{valued: "uC"}, true
	case "command", "builtin", "nohup", "setsid", "unshare":
		return wrapper{}, true
	case "time":
		return wrapper{valued: "fo"}, true
	case "exec":
		return wrapper{valued: "a"}, true
	case "stdbuf":
		return wrapper{valued: "ioe", long: []string{"--input", "--output", "--error"}}, true
	case "timeout":
		return wrapper{valued: "ks", long: []string{"--kill-after", "--signal"}, before: 1}, true
	case "nice":
		return wrapper{valued: "n", long: []string{"--adjustment"}}, true
	case "ionice":
		return wrapper{valued: "cnpPu"}, true
	case "xargs":
		return wrapper{valued: "adEIiLlnPs", more: true,
			long: []string{"--arg-file", "--delimiter", "--max-args", "--max-procs", "--replace", "--max-lines", "--max-chars"}}, true
	case "strace":
		return wrapper{valued: "eoOpPsSuEaIX"}, true
	case "chroot":
		return wrapper{before: 1}, true
	case "flock":
		return wrapper{valued: "wE", before: 1}, true
	}
	return wrapper{}, false
}

// skip drops the wrapper's own words. unsure is true for an option such as -S or
// --split-string, whose value is not parsed here, and for a variable that changes what
// runs.
func (w wrapper) skip(words []Word) (rest []Word, unsure bool) {
	for len(words) > 0 && words[0].Known {
		text := words[0].Text
		name, _, assigned := strings.Cut(text, "=")
		switch {
		case text == "--":
			words = words[1:]
			return w.skipBefore(words), unsure
		case strings.HasPrefix(text, "--"):
			words = words[1:]
			for _, l := range w.long {
				if text == l && len(words) > 0 {
					words = words[1:]
				}
			}
			unsure = unsure || strings.HasPrefix(text, "--split-string")
		case strings.HasPrefix(text, "-") && text != "-":
			words = words[1:]
			last := text[len(text)-1:]
			if strings.Contains(w.valued, last) && len(words) > 0 && len(text) == 2 {
				words = words[1:]
			}
			unsure = unsure || strings.Contains(text, "S")
		case w.assigns && assigned && name != "":
			words = words[1:]
			unsure = unsure || dangerous(name)
		default:
			return w.skipBefore(words), unsure
		}
	}
	return words, unsure
}

func (w wrapper) skipBefore(words []Word) []Word {
	if len(words) < w.before {
		return nil
	}
	return words[w.before:]
}

// isShell reports whether a program reads code from -c.
func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "busybox":
		return true
	}
	return false
}

// shellCode returns the code that a shell is given with -c, if it is known.
func (c SimpleCommand) shellCode() []string {
	for i, w := range c.Words {
		if i > 0 && w.Known && strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "c") && i+1 < len(c.Words) {
			for _, next := range c.Words[i+1:] {
				if next.Known && strings.HasPrefix(next.Text, "-") {
					continue
				}
				if next.Known {
					return []string{next.Text}
				}
				return nil
			}
		}
	}
	return nil
}

// findCommands returns the commands after -exec and similar options.
func (c SimpleCommand) findCommands() []SimpleCommand {
	var out []SimpleCommand
	for i := 0; i < len(c.Words); i++ {
		switch w := c.Words[i]; w.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(c.Words) && !(c.Words[end].Known && (c.Words[end].Text == ";" || c.Words[end].Text == "+")) {
				end++
			}
			words := append(append([]Word{}, c.Words[i+1:end]...), Word{}) // {} may be any file
			if len(words) > 1 {
				out = append(out, SimpleCommand{Words: words, Unsure: c.Unsure})
			}
			i = end
		}
	}
	return out
}

// withoutGitOptions removes git's options before its command. Settings given with -c can
// run anything.
func (c SimpleCommand) withoutGitOptions() SimpleCommand {
	if len(c.Words) < 2 || !c.Words[0].Known || path.Base(c.Words[0].Text) != "git" {
		return c
	}
	words := c.Words[1:]
	for len(words) > 0 && words[0].Known && strings.HasPrefix(words[0].Text, "-") {
		option, _, joined := strings.Cut(words[0].Text, "=")
		words = words[1:]
		switch option {
		case "-c", "--config-env", "--exec-path":
			c.Unsure = true
		}
		switch option {
		case "-c", "-C", "--git-dir", "--work-tree", "--namespace":
			if !joined {
				words = words[min(1, len(words)):]
			}
		}
	}
	if len(words) == 0 {
		return c
	}
	c.Words = append([]Word{c.Words[0]}, words...)
	return c
}

// dangerous reports whether a variable changes what commands run.
func dangerous(name string) bool {
	switch name {
	case "PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "EDITOR", "VISUAL", "PAGER", "BASH_ALIASES", "BASH_CMDS",
		"PERL5OPT", "PERL5LIB", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS", "RUBYOPT", "GOFLAGS", "CC", "MAKEFLAGS", "HOME":
		return true
	}
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC_")
}
