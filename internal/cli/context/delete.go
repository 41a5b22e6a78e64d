package context

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/folder"
	"fika/internal/text/hint"
)

func newDelete(e *command.Env) *cobra.Command {
	var yes bool
	var wait time.Duration
	c := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "delete a context and everything said in it",
		Long: `Deletes a context: its folder, its conversations and its agent. What the agent
said in chats stays. Asks first; without a terminal, or for the current context,
--yes is required.`,
		Example: "  fika context delete scratch\n  fika context delete scratch --yes",
		Args:    command.Exactly(1, "the name of a context"), ValidArgsFunction: complete.FirstOnly(complete.ContextNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			if err := mayDelete(e, name, yes); err != nil {
				return err
			}
			err = contexts.Delete(cmd.Context(), e.App(), name, wait, e.Person())
			if fika.IsKind(err, fika.NotFound) {
				if h, herr := e.App().Home(); herr == nil {
					return noContext(e, h, name, hint.ContextList)
				}
			}
			if err != nil {
				return command.HeldHint(err)
			}
			e.Say("deleted context %q", name)
			return nil
		},
	}
	command.YesFlag(c, &yes, "do not ask")
	command.WaitFlag(c, &wait)
	return c
}

func mayDelete(e *command.Env, name fika.AgentName, yes bool) error {
	h, err := e.App().Home()
	if err != nil {
		return err
	}
	current, err := e.CurrentContext()
	if err != nil {
		return err
	}
	_, err = folder.OpenFolder(h, name)
	switch {
	case fika.IsKind(err, fika.NotFound):
		return nil // the deletion reports that, or removes what is left of the agent
	case err != nil:
		return err
	case name == current && !yes:
		return command.UsageError("%q is the current context: switch to another one first, or use --yes", name)
	}
	if yes {
		return nil
	}
	return e.Confirm(fmt.Sprintf("delete context %q and all that was said in it", name))
}
