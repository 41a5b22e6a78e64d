package board

import (
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
)

// control completes c to a command that changes one task and prints how it then stands.
func control(e *command.Env, c *cobra.Command, do func(*cobra.Command, *service.Board, fika.TaskNumber, []string) (service.TaskInfo, error)) *cobra.Command {
	var asJSON bool
	c.RunE = func(cmd *cobra.Command, args []string) error {
		n, err := number(args[0])
		if err != nil {
			return err
		}
		c, err := e.Service(cmd.Context())
		if err != nil {
			return err
		}
		t, err := do(cmd, c.Board(), n, args[1:])
		if err != nil {
			return err
		}
		return changed(e, t, asJSON)
	}
	command.JSONFlag(c, &asJSON)
	return c
}

// withReason is [control] for a command that takes a reason.
func withReason(e *command.Env, c *cobra.Command, all bool, do func(cmd *cobra.Command, b *service.Board, n fika.TaskNumber, why string) (service.TaskInfo, error)) *cobra.Command {
	var why string
	c.Args, c.ValidArgsFunction = command.Exactly(1, "the number of a task"), numbers(e, all)
	c.Flags().StringVar(&why, "reason", "", "why; it is kept with the task")
	_ = c.RegisterFlagCompletionFunc("reason", cobra.NoFileCompletions)
	return control(e, c, func(cmd *cobra.Command, b *service.Board, n fika.TaskNumber, _ []string) (service.TaskInfo, error) {
		return do(cmd, b, n, why)
	})
}

func newRelease(e *command.Env) *cobra.Command {
	return withReason(e, &cobra.Command{
		Use: "release TASK", Short: "let a held task go on, or take one from its agent", Example: "  fika board release 12\n  fika board release 12 --reason \"the key is there now\"",
		Long: "Makes a task open that is held for a person, or takes it from the agent that has\nit, whose work on it is cancelled. Any agent may take it then.",
	}, false, func(cmd *cobra.Command, b *service.Board, n fika.TaskNumber, why string) (service.TaskInfo, error) {
		t, err := b.Release(cmd.Context(), n, why)
		if err == nil {
			sayNoHub(e)
		}
		return t, err
	})
}

func newClose(e *command.Env) *cobra.Command {
	var drop bool
	c := withReason(e, &cobra.Command{
		Use: "close TASK", Short: "end a task: done, or dropped", Example: "  fika board close 12\n  fika board close 12 --drop --reason \"not wanted any more\"",
		Long: "Ends a task, whoever has it. What needs it may go on if it is done; if it is\ndropped, what needs it waits until you change that.",
	}, false, func(cmd *cobra.Command, b *service.Board, n fika.TaskNumber, why string) (service.TaskInfo, error) {
		t, err := b.Close(cmd.Context(), n, drop, why)
		if err == nil && drop {
			sayNeeded(cmd, e, b, n, "it is needed by %s, which cannot go on without it")
		}
		return t, err
	})
	c.Flags().BoolVar(&drop, "drop", false, "no longer wanted")
	return c
}

func newNote(e *command.Env) *cobra.Command {
	return control(e, &cobra.Command{
		Use: "note TASK TEXT", Short: "add a note to a task", Example: "  fika board note 12 \"the parser is in parse.go\"",
		Long: "Adds a note to a task that has not ended. Whoever works it next reads it.",
		Args: command.Exactly(2, "the number of a task and a text"), ValidArgsFunction: numbers(e, false),
	}, func(cmd *cobra.Command, b *service.Board, n fika.TaskNumber, args []string) (service.TaskInfo, error) {
		return b.Report(cmd.Context(), n, service.TaskReport{Note: args[0]})
	})
}

func newReopen(e *command.Env) *cobra.Command {
	return withReason(e, &cobra.Command{
		Use: "reopen TASK", Short: "open a task again that has ended", Example: "  fika board reopen 12 --reason \"it fails on arm\"",
		Long: "Makes a task open that is done or dropped. Tasks that need it wait for it again;\nthose that an agent has already go on, and are named.",
	}, true, func(cmd *cobra.Command, b *service.Board, n fika.TaskNumber, why string) (service.TaskInfo, error) {
		t, err := b.Reopen(cmd.Context(), n, why)
		if err == nil {
			sayNeeded(cmd, e, b, n, "it is needed by %s; work under way continues")
		}
		return t, err
	})
}

// sayNeeded names the tasks that need one, if there are any.
func sayNeeded(cmd *cobra.Command, e *command.Env, b *service.Board, n fika.TaskNumber, format string) {
	v, err := b.Find(cmd.Context(), n)
	if err != nil || len(v.Needed) == 0 {
		return
	}
	var out []string
	for _, t := range v.Needed {
		out = append(out, "task "+digits(t.Number)+" ("+string(t.State)+")")
	}
	e.Say(format, strings.Join(out, ", "))
}
