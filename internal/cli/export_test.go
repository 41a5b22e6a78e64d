package cli

import (
	"os"
	"slices"
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
		places := [][]string{{c.name}}
		if c.below != "" {
			places = append(places, []string{c.below, c.name})
		}
		for _, at := range places {
			say(at...)
		}
		for _, v := range c.verbs {
			for name := range strings.FieldsSeq(v.names) {
				command, _ := v.split(name)
				for _, at := range places {
					say(append(slices.Clone(at), command)...)
				}
			}
		}
	}
	return out
}

// EntryPath returns the older spelling of a command that has two, otherwise path.
func EntryPath(path string) string {
	return strings.Join(append([]string{"fika"}, entryPath(strings.Fields(path)[1:])...), " ")
}

// CommandsFor builds the commands that a line needs.
func CommandsFor(args ...string) *cobra.Command {
	return newRoot(&command.Env{Streams: term.SystemStreams(), Getenv: os.Getenv}, args...)
}
