package job

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show JOB", Short: "show one background command", Args: command.Exactly(1, "the number of a job"),
		Example: "  fika agent job show 3\n  fika agent job show 3 --json", ValidArgsFunction: offerNumbers(e, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := numberOf(args[0])
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			j, err := c.Jobs().Find(cmd.Context(), n)
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(toJSON(j))
			}
			return show(e, j)
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

func show(e *command.Env, j service.Job) error {
	lines := [][2]string{
		{"command", term.CleanLine(j.Command)}, {"state", page.JobState(j)}, {"agent", string(j.AgentName)}, {"chat", string(j.In)},
		{"request", string(j.Request)}, {"folder", j.Dir}, {"sandbox", j.Profile}, {"started", j.Started.Local().Format(time.DateTime)},
	}
	if j.Description != "" {
		lines = append(lines, [2]string{"about", term.CleanLine(j.Description)})
	}
	if !j.Ended.IsZero() {
		lines = append(lines, [2]string{"ended", j.Ended.Local().Format(time.DateTime)})
	}
	if j.Reason != "" {
		lines = append(lines, [2]string{"reason", term.CleanLine(j.Reason)})
	}
	for _, l := range lines {
		if err := e.Println(strings.TrimRight(l[0]+strings.Repeat(" ", 9-len(l[0]))+l[1], " ")); err != nil {
			return err
		}
	}
	return nil
}
