package board

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

func newWait(e *command.Env) *cobra.Command {
	var timeout time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use: "wait TASK...", Short: "wait until tasks are done, dropped or held",
		Long: `Returns when each of the tasks is done, dropped, or held for a person; what happens
meanwhile is reported on stderr. The exit status is 0 if all are done, 1 if one is
dropped or held, and 7 if --timeout is over first: the work continues. With --json
each task is printed at the end.

` + command.ExitHelp,
		Example: "  fika board wait 12\n  fika board wait 12 13 14 --timeout 1h && fika land apply",
		Args:    command.AtLeastOne("the number of a TASK, or several"), ValidArgsFunction: complete.AnyNumber(complete.TaskNumbers(e, false)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var list []fika.TaskNumber
			for _, word := range args {
				n, err := number(word)
				if err != nil {
					return err
				}
				if !slices.Contains(list, n) {
					list = append(list, n)
				}
			}
			if timeout < 0 {
				return command.UsageError("--timeout is a span of time such as 10m, not %s", timeout)
			}
			return wait(cmd.Context(), e, list, timeout, asJSON)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "stop waiting after this long")
	command.JSONFlag(c, &asJSON)
	return c
}

func wait(ctx context.Context, e *command.Env, list []fika.TaskNumber, timeout time.Duration, asJSON bool) error {
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithCancel(ctx)
	if timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	sayNoHub(e)
	tasks, stopped := c.Board().Await(waiting, list, func(t service.TaskInfo) { e.Say("%s", stands(t)) })
	if stopped != nil && !fika.IsKind(stopped, fika.Detached) {
		return stopped
	}
	if asJSON {
		if err := command.PrintLines(e, tasks, ToJSON); err != nil {
			return err
		}
	}
	if stopped == nil && slices.ContainsFunc(tasks, func(t service.TaskInfo) bool { return t.State != fika.TaskDone }) {
		return command.Silent{Kind: fika.Failed}
	}
	return stopped
}

// stands says in one line how a task stands.
func stands(t service.TaskInfo) string {
	line := "task " + digits(t.Number) + " is " + string(t.State)
	if w := who(t.Card()); w != "" {
		line += " (" + w + ")"
	}
	if t.HeldReason != "" {
		line += ": " + strings.Join(strings.Fields(t.HeldReason), " ")
	}
	return line
}
