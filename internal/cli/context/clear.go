package context

import (
	"time"

	"github.com/spf13/cobra"

	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
)

func newClear(e *command.Env) *cobra.Command {
	var wait time.Duration
	c := oneContext(e, &cobra.Command{
		Use: "clear [NAME]", Short: "start a new conversation in a context",
		Long: `Takes everything said so far out of the conversation and empties the summary.
Nothing is deleted: fika context log --all still shows it.`,
		Example: "  fika context clear\n  fika context clear review",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := Find(e, args)
			if err != nil {
				return err
			}
			n, err := contexts.Clear(cmd.Context(), e.App(), f.Name, wait, e.Person())
			switch {
			case err != nil:
				return command.HeldHint(err)
			case n == 0:
				e.Say("context %q has no messages now", f.Name)
			default:
				e.Say("cleared context %q: %d messages are out of the conversation (fika context compact %s --undo takes that back)", f.Name, n, f.Name)
			}
			return nil
		},
	})
	command.WaitFlag(c, &wait)
	return command.AcceptYes(c)
}
