package context

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/folder"
)

func newUnlock(e *command.Env) *cobra.Command {
	var o folder.UnlockOptions
	c := &cobra.Command{
		Use: "unlock NAME", Short: "end a silent process that holds a context",
		Long: `Ends the process that holds a context if it has given no sign of life for one
and a half heartbeats; a lock whose process is gone needs no unlocking. --force
also ends a process that is alive.`,
		Example: "  fika context unlock coder",
		Args:    command.Exactly(1, "the name of a context"), ValidArgsFunction: complete.FirstOnly(complete.ContextNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := Find(e, args)
			if err != nil {
				return err
			}
			before, err := f.Inspect()
			if err != nil {
				return err
			}
			ended, err := f.Unlock(cmd.Context(), o)
			switch {
			case err != nil && before.Status == folder.LockActive && fika.IsKind(err, fika.Locked):
				return fika.Errorf(fika.Locked, "", "context %q is in use by process %d (%s), which is alive; --force ends it all the same", f.Name, before.Info.PID, before.Info.Kind)
			case err != nil:
				return err
			case ended:
				e.Say("ended process %d (%s); context %q is free", before.Info.PID, before.Info.Kind, f.Name)
			case before.Status == folder.LockStale:
				e.Say("process %d is gone already; the next prompt takes context %q over", before.Info.PID, f.Name)
			default:
				e.Say("context %q is free", f.Name)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&o.Force, "force", false, "also end a process that is alive")
	return c
}
