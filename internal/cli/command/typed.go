package command

import (
	"strings"
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
	e.Say("what you typed is kept in %s (fika run < %s)", path, path)
}
