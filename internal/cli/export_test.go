package cli

import (
	"os"
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
	for path, d := range declared() {
		out[path] = string(d.conduct)
	}
	return out
}

// CommandsFor builds the commands that a line needs.
func CommandsFor(args ...string) *cobra.Command {
	return newRoot(&command.Env{Streams: term.System(), Getenv: os.Getenv}, args...)
}
