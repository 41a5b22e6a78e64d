package agent

import (
	"os"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newShell(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "shell NAME", Short: "open a confined shell in an agent's git worktree",
		Long: `Starts a shell in the worktree of an agent with workspace = "worktree", confined as
the agent's commands are, without the network. Use it to look around, to run the
tests, or to resolve what git began there: git in the worktree obeys what the agent
has put there, and here that reaches nothing of yours.`,
		Example: "  fika agent shell coder\n  echo 'git log --oneline -3' | fika agent shell coder",
		Args:    command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, _, err := workOf(cmd.Context(), e, args[0], false)
			if err != nil {
				return err
			}
			out, errs := e.Terminal()
			if ok, err := t.Shell(cmd.Context(), os.Stdin, out, errs); ok || err != nil {
				return err
			}
			return command.Silent{Kind: fika.Failed}
		},
	}
}
