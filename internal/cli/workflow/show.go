package workflow

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "print the text of a workflow", Args: command.Exactly(1, "the name of a workflow, or a file"),
		Long:              "Prints a workflow as it is written. Saved as workflows/NAME.toml in the home,\nthe text is the start of a workflow of your own.",
		Example:           "  fika workflow show review\n  fika workflow show tandem > ~/.fika/workflows/mine.toml",
		ValidArgsFunction: complete.FirstOnly(complete.WorkflowsOrFiles(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := load(e, args[0])
			if err != nil {
				return err
			}
			if !asJSON {
				return e.Println(term.Clean(strings.TrimSuffix(d.Source, "\n")))
			}
			info := service.WorkflowInfo{Name: d.Name, Definition: d}
			if filepath.Base(d.File) != d.File || strings.HasSuffix(args[0], ".toml") {
				info.File = d.File
			}
			return e.PrintLine(toListed(info))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print its contents as one JSON object")
	return c
}
