package workflow

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
)

func newGraph(e *command.Env) *cobra.Command {
	var dot bool
	c := &cobra.Command{
		Use: "graph NAME|FILE", Short: "draw a workflow", Args: command.Exactly(1, "the name of a workflow, or a file"),
		Long:              "Draws the steps of a workflow, each below the last of the steps it needs. With\n--dot, writes the graph in the language of Graphviz instead.",
		Example:           "  fika workflow graph research-implement-test\n  fika workflow graph review --dot | dot -Tsvg > review.svg",
		ValidArgsFunction: complete.FirstOnly(complete.WorkflowsOrFiles(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := load(e, args[0])
			if err != nil {
				return err
			}
			if dot {
				return e.Println(term.Clean(strings.TrimSuffix(d.DotGraph(), "\n")))
			}
			return e.Println(term.Clean(strings.TrimSuffix(d.TreeText(), "\n")))
		},
	}
	c.Flags().BoolVar(&dot, "dot", false, "print the language of Graphviz")
	return c
}
