package board

import (
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

func newEdit(e *command.Env) *cobra.Command {
	f := &taskFlags{Env: e}
	var asJSON bool
	c := &cobra.Command{
		Use: "edit TASK", Short: "change a task", Args: command.Exactly(1, "the number of a task"), ValidArgsFunction: numbers(e, false),
		Long:    "Changes what the flags name. --needs replaces all that the task needs; an empty\nvalue, as in --needs \"\", removes what was there.",
		Example: "  fika board edit 12 --priority 0\n  fika board edit 12 --needs 3,4\n  fika board edit 12 --body - < better.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := number(args[0])
			if err != nil {
				return err
			}
			change, err := f.edit(cmd)
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			t, err := c.Board().Edit(cmd.Context(), n, change)
			if err != nil {
				return err
			}
			return changed(e, t, asJSON)
		},
	}
	f.add(c)
	c.Flags().StringVar(&f.title, "title", "", "another title")
	_ = c.RegisterFlagCompletionFunc("title", cobra.NoFileCompletions)
	command.JSONFlag(c, &asJSON)
	return c
}

// edit returns what the flags that were given change.
func (f *taskFlags) edit(c *cobra.Command) (out service.TaskEdit, err error) {
	if err := f.readBody(); err != nil {
		return out, err
	}
	t, err := f.task()
	if err != nil {
		return out, err
	}
	given := 0
	is := func(name string) bool {
		if !c.Flags().Changed(name) {
			return false
		}
		given++
		return true
	}
	if is("title") {
		out.Title = &t.Title
	}
	if is("body") {
		out.Body = &t.Body
	}
	if is("capability") {
		out.Capability = &t.Capability
	}
	if is("priority") {
		out.Priority = &t.Priority
	}
	if is("parent") {
		out.Parent = &t.Parent
	}
	if is("due") {
		out.Due, out.Within = &t.Due, t.Within
	}
	if is("needs") {
		out.Needs = &t.Needs
	}
	if is("check") {
		out.Check = &t.Check
	}
	if is("review") {
		out.Review = &t.Review
	}
	if given == 0 {
		return out, fika.WithHint(command.UsageError("nothing to change: give a flag, as in --priority 1"), "fika board edit --help")
	}
	return out, nil
}

// changed prints a task after a change.
func changed(e *command.Env, t service.TaskInfo, asJSON bool) error {
	if asJSON {
		return e.PrintLine(ToJSON(t))
	}
	line := "task " + digits(t.Number) + " is " + string(t.State)
	if w := who(t.Card()); w != "" {
		line += " (" + w + ")"
	}
	if needs := unmet(t.Card()); needs != "" && !t.State.Ended() {
		line += " and needs " + needs
	}
	if !t.Due.IsZero() && !t.State.Ended() {
		line += ", due " + t.Due.Local().Format(time.DateTime)
	}
	e.Say("%s", line)
	return nil
}

func newAssign(e *command.Env) *cobra.Command {
	return control(e, &cobra.Command{
		Use: "assign TASK [AGENT]", Short: "leave a task to one agent, or to any", Args: command.OneOrTwo("the number of a task, and at most one AGENT"),
		ValidArgsFunction: complete.InOrder(complete.TaskNumbers(e, false), complete.AgentNames(e)),
		Long:              "Leaves a task to AGENT, or to a member of the pool of that name; without AGENT, to\nany agent. Another agent that has it loses it: its work is cancelled.",
		Example:           "  fika board assign 12 tester\n  fika board assign 12",
	}, func(cmd *cobra.Command, b *service.Board, n fika.TaskNumber, args []string) (service.TaskInfo, error) {
		return b.Assign(cmd.Context(), n, command.OptionalArg(args))
	})
}
