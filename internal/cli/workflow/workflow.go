package workflow

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/workflow"
)

// New makes fika workflow.
func New(e *command.Env) *cobra.Command {
	return command.Group("workflow", "look at workflows: list, show, check, graph",
		`A workflow says in a file which agents do what, in which order, and what each gets
from those before it. Yours are workflows/NAME.toml in the home; some are brought
along. A mistake in one is found before any model is called.`,
		"  fika workflow list\n  fika workflow graph research-implement-test\n  fika workflow check ./mine.toml",
		newList(e), newShow(e), newCheck(e), newGraph(e))
}

// load reads a workflow by its name, or from a file.
func load(e *command.Env, nameOrFile string) (*workflow.Definition, error) {
	all, err := e.Workflows()
	if err != nil {
		return nil, err
	}
	return all.Load(nameOrFile)
}
