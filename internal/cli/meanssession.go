package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/project"
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

// withoutAgents is for fika alone where there is nobody to talk to: it says how there
// would be. Where that is because a person has not trusted the project, who has just
// said so or cannot be asked, it is an error: to go on with a prompt that has nothing
// of the project is not what they came for.
func withoutAgents(e *command.Env) error {
	a := e.App()
	if p := a.Project(); p != nil && p.State(a.Dir()) == project.Untrusted {
		return fika.Errorf(fika.Interrupted, "", "nothing of %s is in force, so there is nobody to talk to; fika trust shows it again and asks, fika \"a question\" asks the model alone", p.Name())
	}
	if _, err := a.PlainModel(); err != nil {
		return err
	}
	e.Say("%s", e.ErrStyle().Dim("no agents here yet: fika init makes a team of them in this folder. Until then this is one prompt:"))
	return nil
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
