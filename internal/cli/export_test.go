package cli

import (
	"time"

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
