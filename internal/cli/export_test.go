package cli

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/term"
)

// MainAt is [Main] by another clock.
func MainAt(now func() time.Time, args []string, s *term.Streams, getenv func(string) string) int {
	e := command.New(s, getenv)
	e.Clock = now
	return execute(e, args)
}

// Declared lists the commands that say what they are: looks, speaks or manages.
func Declared() map[string]string {
	out := map[string]string{}
	say := func(path ...string) {
		d, _ := declarationOf(path)
		out[strings.Join(append([]string{"fika"}, path...), " ")] = string(d.conduct)
	}
	say()
	for _, name := range libraryCommands() {
		say(name)
	}
	for _, c := range table() {
		say(c.name)
		for _, v := range c.verbs {
			for _, verb := range strings.Fields(v.names) {
				say(c.name, verb)
			}
		}
	}
	return out
}

// CommandsFor builds the commands that a line needs.
func CommandsFor(args ...string) *cobra.Command {
	return newRoot(&command.Env{Streams: term.SystemStreams(), Getenv: os.Getenv}, args...)
}
