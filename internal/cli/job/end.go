package job

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
)

func newEnd(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "end JOB", Short: "end a background command", Args: command.Exactly(1, "the number of a job"),
		Long:    "Asks the process of an agent to end one of its background commands, with\neverything that the command has started.",
		Example: "  fika agent job end 3", ValidArgsFunction: offerNumbers(e, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := numberOf(args[0])
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context()) // a command that stops work starts no hub
			if err != nil {
				return err
			}
			j, err := c.Jobs().End(cmd.Context(), n)
			if err != nil {
				return err
			}
			if j.State != fika.JobRunning {
				e.Say("job %d had ended already: %s", j.N, page.JobState(j))
				return nil
			}
			e.Say("job %d is asked to end", j.N)
			return nil
		},
	}
}
