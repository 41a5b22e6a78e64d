package workflow

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

func newPause(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "pause RUN...", Short: "pause runs", Args: command.AtLeastOne("the ids of runs"),
		Long:              "Nothing more of the run begins, however much of it waits, and work under way\nstops between two steps. The pause is stored, and lasts until fika workflow\nresume. The time in which a run is paused counts toward none of its time limits\nexcept max_time.",
		Example:           "  fika workflow pause 01a1fd6e",
		ValidArgsFunction: complete.AnyNumber(completeRuns(e, func(r service.Run) bool { return !r.Over() && r.Paused.IsZero() })),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context()) // a command that stops work starts no hub
			if err != nil {
				return err
			}
			for _, word := range args {
				r, err := c.Runs().Find(cmd.Context(), word)
				if err == nil {
					r, err = c.Runs().Pause(cmd.Context(), r.ID)
				}
				if err != nil {
					return err
				}
				e.Say("run %s is paused; fika workflow resume %s lets it go on", r.ID, r.ID)
				if err := printAsJSON(e, asJSON, r); err != nil {
					return err
				}
			}
			return nil
		},
	}
	controlFlags(c, &asJSON)
	return c
}

// controlFlags adds the flags of the commands that change how runs go on.
func controlFlags(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print each run as it is now, one JSON object per line")
}

// printAsJSON prints a run as JSON, if wanted is set.
func printAsJSON(e *command.Env, wanted bool, r service.Run) error {
	if !wanted {
		return nil
	}
	return e.PrintLine(toRunJSON(r))
}

func newCancel(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "cancel RUN...", Short: "cancel runs", Args: command.AtLeastOne("the ids of runs"),
		Long:              "Nothing more of the run begins, and work under way is told to stop. What is done\nstays done: fika workflow resume continues from there.",
		Example:           "  fika workflow cancel 01a1fd6e",
		ValidArgsFunction: complete.AnyNumber(completeRuns(e, isGoing)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context()) // a command that stops work starts no hub
			if err != nil {
				return err
			}
			for _, word := range args {
				r, err := c.Runs().Find(cmd.Context(), word)
				if err == nil {
					r, err = c.Runs().Cancel(cmd.Context(), r.ID, "cancelled by fika workflow cancel")
				}
				if err != nil {
					return err
				}
				if r.Over() {
					e.Say("run %s is cancelled", r.ID)
				} else {
					e.Say("cancelling run %s", r.ID)
				}
				if err := printAsJSON(e, asJSON, r); err != nil {
					return err
				}
			}
			return nil
		},
	}
	controlFlags(c, &asJSON)
	return c
}
