package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika/internal/cli/command"
)

// meansSession reports whether fika alone opens the session: somebody is at a
// terminal and says nothing else, and there are agents to talk to, or a config that
// cannot be read, of which a person hears before they have typed a prompt. Inside a tool,
// where no person asks, it never does.
func meansSession(e *command.Env, cmd *cobra.Command, args []string) bool {
	if !alone(e, cmd, args) {
		return false
	}
	c, err := e.App().Config()
	if err == nil && len(c.Agents) == 0 {
		return false
	}
	who, err := e.App().Caller()
	return err == nil && !who.InsideTool()
}

// alone reports whether somebody at a terminal says fika and nothing else.
func alone(e *command.Env, cmd *cobra.Command, args []string) bool {
	said := len(args)
	if cmd.HasParent() {
		said++
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "home" {
			said++
		}
	})
	return said == 0 && e.InTTY && e.OutTTY
}
