package context

import (
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/text/hint"
)

func newRename(e *command.Env) *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: "rename OLD NEW", Short: "rename a context", Example: "  fika context rename 20260301_101500 parser",
		Args: command.Exactly(2, "the old and the new name"), ValidArgsFunction: complete.FirstOnly(complete.ContextNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			to, err := fika.ParseAgentName(args[1])
			if err != nil {
				return err
			}
			if from == to {
				return command.UsageError("that is its name already")
			}
			err = contexts.Rename(cmd.Context(), e.App(), from, to, wait, e.Person())
			if fika.IsKind(err, fika.NotFound) {
				if h, herr := e.App().Home(); herr == nil {
					return noContext(e, h, from, hint.ContextList)
				}
			}
			if err != nil {
				return command.HeldHint(err)
			}
			e.Say("renamed context %q to %q", from, to)
			return nil
		},
	}
	command.WaitFlag(c, &wait)
	return c
}
