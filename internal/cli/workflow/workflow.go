package workflow

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/workflow"
)

// New returns the command fika workflow.
func New(e *command.Env) *cobra.Command {
	return command.Group("workflow", "define, run and follow work in several steps",
		`A workflow is a file that says which agents do what, in which order, and what
each gets from those before it. Yours are workflows/NAME.toml in the home; some
come with fika. A mistake in one is found before any model is called. Each run
is kept in the store: it survives the end of any process, and you can leave it
and come back to it.`,
		"  fika workflow list\n  fika workflow graph research-implement-test\n  fika workflow check ./mine.toml\n  fika workflow run tandem -i goal=\"a logo for the shop\"\n  fika workflow status",
		newList(e), newShow(e), newCheck(e), newGraph(e),
		newRun(e), newStatus(e), newOutput(e), newWait(e), newPause(e), newResume(e), newCancel(e))
}

// load reads a workflow by its name, or from a file.
func load(e *command.Env, nameOrFile string) (*workflow.Definition, error) {
	all, err := e.Workflows()
	if err != nil {
		return nil, err
	}
	return all.Load(nameOrFile)
}
