package agent

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newMove(e *command.Env) *cobra.Command {
	var leave bool
	c := &cobra.Command{
		Use: "move NAME HOST", Short: "have an agent work on another host from now on",
		Long: `Moves an agent to another of the hosts that share the database (fika store host
list). What it does now ends first; what waits for it goes along, with its
conversations, its prompt, todos, goals, summary and reflection. The other host
has to define it, too (an [[agents]] entry), and it follows the settings there.

The files in its workspace stay where they are. If there are any, --leave-files has
to say so. If its host is down, --leave-files moves it without its todos and the
like as well, once its lease has ended.`,
		Example: "  fika agent move coder box\n  fika agent move coder box --leave-files", Args: command.Exactly(2, "the name of an agent and of a host"), ValidArgsFunction: complete.FirstOnly(complete.AgentNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			row, err := c.Agents.FindLone(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.Agents.Move(cmd.Context(), row, args[1], leave); err != nil {
				return err
			}
			e.Say("%s @%s is on %s", e.ErrStyle().Green("✓"), row.Name, args[1])
			return nil
		},
	}
	c.Flags().BoolVar(&leave, "leave-files", false, "leave the files in its workspace behind")
	return c
}
