package command

import (
	"strings"
	"unicode"
)

// KeepTyped saves what a person has typed for a command that failed before it was
// stored, and tells the person where it is.
func (e *Env) KeepTyped() {
	if strings.TrimSpace(e.Typed) == "" {
		return
	}
	path, err := e.saveTyped()
	if err != nil {
		e.Say("what you typed could not be saved (%v); it was:\n%s", err, e.Typed)
		return
	}
	e.Say("what you typed is kept in %s (%s < %s)", path, e.again, path)
}

// ShellWord returns a text as one word of a shell.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.,@/", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
