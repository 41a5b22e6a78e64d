package agent

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newDiscard(e *command.Env) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "discard NAME", Short: "remove an agent's git worktree and its branch",
		Long: `Removes the worktree of an agent with workspace = "worktree", and its branch.
fika refuses while the worktree holds work that exists nowhere else (uncommitted
changes, commits that no other branch has); with --force it keeps that work as a
commit that git does not clean up, and prints the commit's name. Files that git
ignores are lost. The agent gets a new worktree when it works again.`,
		Example: "  fika agent discard coder\n  fika agent discard coder --force",
		Args:    command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, _, err := workOf(cmd.Context(), e, args[0], true)
			if err != nil {
				return err
			}
			d, err := t.Discard(cmd.Context(), force)
			if err != nil {
				return err
			}
			e.Say("%s removed %s and the branch %s", e.ErrStyle().Green("✓"), t.Root, t.Branch())
			if d.Kept != "" {
				e.Say("what was only there is kept as %s (git branch NAME %s restores it)", d.Ref, d.Ref)
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&force, "force", "f", false, "even if it holds work that exists nowhere else")
	return command.AcceptYes(c)
}
