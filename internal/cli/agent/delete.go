package agent

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newDelete(e *command.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete AGENT", Short: "remove the file of an agent",
		Long: `Removes agents/NAME.md, which fika agent create wrote; the agent no longer
exists. What the agent said stays in its context (fika context delete NAME
removes that) and in chats. To remove an agent of [[agents]], edit the file that
holds its entry.`,
		Example: "  fika agent delete critic", Args: command.Exactly(1, "an agent"), ValidArgsFunction: complete.FirstOnly(complete.DefinedAgents(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			file, err := setup.AgentFile(e.App(), name)
			if err != nil {
				return err
			}
			if !yes {
				if err := e.Confirm("remove " + file); err != nil {
					return err
				}
			}
			made, err := setup.DeleteAgent(e.App(), name)
			if err != nil {
				return err
			}
			e.Say("deleted agent %[2]s (%[1]s); its conversation is kept (fika context delete %[3]s)", made.File, name, name)
			if !made.InForce {
				e.Say("takes effect after fika trust, which shows what else has changed")
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}
