package workflow

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/toml"
	"fika/internal/workflow"
)

// problemJSON is a mistake in a file as --json prints it.
type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func newCheck(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "check NAME|FILE", Short: "report every mistake in a workflow", Args: command.Exactly(1, "the name of a workflow, or a file"),
		Long: `Reports everything that is wrong with a workflow, each problem with its file,
line and column: keys, agents and steps that do not exist, steps that wait for
each other, and values that prompts and conditions read but nothing provides. No
model is called. The exit status is 2 if anything is wrong.`,
		Example:           "  fika workflow check review\n  fika workflow check ./mine.toml",
		ValidArgsFunction: complete.FirstOnly(complete.WorkflowsOrFiles(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := e.Workflows()
			if err != nil {
				return err
			}
			d, err := all.Load(args[0])
			var problems *toml.Problems
			if asJSON && errors.As(err, &problems) {
				if err := command.PrintLines(e, problems.List, toProblemJSON); err != nil {
					return err
				}
				return command.Silent{Kind: fika.Invalid}
			}
			if err != nil {
				return err
			}
			e.Say("%s: %s, no problems", d.Name, countSteps(d))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the mistakes as JSON Lines")
	return c
}

func toProblemJSON(p toml.Problem) problemJSON {
	return problemJSON{p.File, p.Line, p.Column, p.Message}
}

func countSteps(d *workflow.Definition) string {
	if len(d.Steps) == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", len(d.Steps))
}
