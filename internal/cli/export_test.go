package cli

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/system/term"
)

// MainAt is [Main] by another clock.
func MainAt(now func() time.Time, args []string, s *term.Streams, getenv func(string) string) int {
	e := command.New(s, getenv)
	e.Clock = now
	return execute(e, args)
}

// Declared lists the commands with what each does: looks, speaks or manages.
func Declared() map[string]string {
	out := map[string]string{}
	say := func(path ...string) {
		d, _ := declarationOf(path)
		for _, verb := range []string{d.verb, d.then} {
			if _, ok := api.Find(verb); verb != "" && !ok {
				panic(verb + " is no verb of package api")
			}
		}
		v, _ := api.Find(d.verb)
		out[strings.Join(append([]string{"fika"}, path...), " ")] = min(v.Conduct, api.Manages).String()
	}
	say()
	for _, name := range libraryCommands() {
		say(name)
	}
	for _, c := range table() {
		say(c.name)
		for _, v := range c.verbs {
			for name := range strings.FieldsSeq(v.names) {
				command, _ := v.split(name)
				say(c.name, command)
			}
		}
	}
	return out
}

// CommandsFor builds the commands that a line needs.
func CommandsFor(args ...string) *cobra.Command {
	return newRoot(&command.Env{Streams: term.SystemStreams(), Getenv: os.Getenv}, args...)
}
