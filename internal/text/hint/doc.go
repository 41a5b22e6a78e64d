// Package hint spells the commands of fika that texts below the command line name, each in
// one place: errors that say what helps, notices in chats, remedies of the doctor. What
// turns the codes of package api into commands is in package words.
//
// A test of the command line looks every one of them up among the real commands, with its
// flags.
//
// Read first: [Command.With].
package hint

import (
	"fmt"
	"strings"
)

// Command is a command with a pair of braces for each argument.
type Command string

// With returns the command as it is typed, with arguments in the place of the braces.
// Braces without an argument are left out.
func (c Command) With(args ...any) string {
	parts := strings.Split(string(c), "{}")
	s := parts[0]
	for i, p := range parts[1:] {
		if i < len(args) {
			s += fmt.Sprint(args[i])
		} else {
			s = strings.TrimSuffix(s, " ")
		}
		s += p
	}
	return s
}
