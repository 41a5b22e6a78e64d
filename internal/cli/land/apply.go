package land

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
)

// applyJSON is what became of a person's files.
type applyJSON struct {
	Into    command.Nullable `json:"into"` // the working tree; null: the branch is checked out nowhere
	Branch  string           `json:"branch"`
	From    command.Nullable `json:"from"`
	Commit  string           `json:"commit"`
	Applied bool             `json:"applied"`
	ByHand  command.Nullable `json:"by_hand"`
}

func newApply(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "apply", Short: "bring what has landed into your files", Args: command.Exactly(0, "no arguments"), Example: "  fika land apply\n  git log --oneline fika/landing/main",
		Long: `Fast-forwards the working tree in which you have the branch checked out to what has
landed. Your own uncommitted changes stay as they are; if what has landed changes the
same files, or adds files that are there already, fika names them and changes nothing.

Hooks and filters of the repository do not run. Where one takes part (a file of Git
LFS, a post-merge hook), fika changes nothing and prints the git merge with which your
own git does it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			t, err := c.Offers().Target()
			if err != nil {
				return err
			}
			a, err := c.Offers().Apply(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				err = e.PrintLine(applyJSON{command.Nullable(a.Into), t.Into, command.Nullable(a.From), a.Commit, !a.Nothing && a.ByHand == "", command.Nullable(a.ByHand)})
			}
			switch {
			case a.ByHand != "":
				e.Say("%s nothing was changed, because %s, and fika's git runs no program of yours; in %s, say:", e.ErrStyle().Red("✗"), a.Why, a.Into)
				e.Say("  %s", a.ByHand)
				if err == nil {
					err = command.Silent{Kind: fika.Conflict}
				}
			case a.Nothing && a.Into == "":
				e.Say("%s is checked out nowhere, and has all that has landed", t.Into)
			case a.Nothing:
				e.Say("%s has all that has landed", a.Into)
			case a.Into == "":
				e.Say("%s %s is checked out nowhere, and is now at %.12s", e.ErrStyle().Green("✓"), t.Into, a.Commit)
			default:
				e.Say("%s %s: %s is now at %.12s (was %.12s)", e.ErrStyle().Green("✓"), a.Into, t.Into, a.Commit, a.From)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
