package agent

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newDiscard(e *command.Env) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "discard NAME", Short: "remove the git worktree and the branch of an agent",
		Long: `Removes the worktree of an agent with workspace = "worktree", and its branch. While
something in it is nowhere else (changes that are not committed, commits that no other
branch has) it is refused; with --force that is kept as a commit which git does not
clean up, and its name is printed. Files that git ignores go. When the agent works
again it gets a new worktree.`,
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
				e.Say("what was only there is kept as %s: git branch NAME %s brings it back", d.Ref, d.Ref)
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&force, "force", "f", false, "also when something in it is nowhere else")
	return c
}
