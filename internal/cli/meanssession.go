package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/settings/project"
)

// meansSession reports whether fika alone opens the session: somebody at a terminal
// has typed nothing else, and either there are agents to talk to or the config cannot
// be read, which a person should learn before typing a prompt. Inside a tool, where
// no person asks, it returns false.
func meansSession(e *command.Env, cmd *cobra.Command, args []string) bool {
	if !alone(e, cmd, args) {
		return false
	}
	c, err := e.App().Config()
	if err == nil && len(c.Agents) == 0 {
		return false
	}
	return !e.InsideTool()
}

// withoutAgents handles fika alone where there is no agent to talk to: it says how to
// get some. If there is none because the person has not trusted the project, having
// just said so or being impossible to ask, it fails with Interrupted: they did not come
// for a prompt that knows nothing of the project.
func withoutAgents(e *command.Env) error {
	a := e.App()
	if p := a.Project(); p != nil && p.State(a.Dir()) == project.Untrusted {
		return fika.Errorf(fika.Interrupted, "", "%s is not trusted, so it has no agents here; review it with fika trust, or ask the model alone: fika \"a question\"", p.Name())
	}
	if _, err := a.PlainModel(); err != nil {
		return err
	}
	e.Say("%s", e.ErrStyle().Dim("no agents here yet: fika init creates a team in this folder. Until then this is one prompt:"))
	return nil
}

// alone reports whether somebody at a terminal has typed fika and nothing else.
func alone(e *command.Env, cmd *cobra.Command, args []string) bool {
	said := len(args)
	if cmd.HasParent() {
		said++
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "home" && f.Name != "plain" && f.Name != "quiet" {
			said++
		}
	})
	return said == 0 && e.InTTY && e.OutTTY
}
