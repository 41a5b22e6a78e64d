package board

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// mostImported bounds a file, in bytes.
const mostImported = 4 << 20

func newImport(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "import FILE", Short: "add the tasks of a Markdown checklist", Args: command.Exactly(1, "a FILE"), ValidArgsFunction: complete.FirstOnly(complete.FileNames),
		Long: `Adds a task for each open item ("- [ ] title") of a Markdown file; - reads stdin.
Items that are checked are skipped. A task needs the items that are indented below
it. Other text that is indented below an item is its body, except for lines such as
"needs: 3, another title", "agent: tester", "capability: go", "check: make test",
"review: reviewer" and "priority: 1".`,
		Example: "  fika board import PLAN.md\n  fika board import - < PLAN.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := read(e, args[0])
			if err != nil {
				return err
			}
			list, err := service.ParseChecklist(text)
			if err != nil {
				return err
			}
			return added(cmd.Context(), e, list, asJSON)
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

// read reads a file, or stdin.
func read(e *command.Env, path string) (string, error) {
	in := e.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fika.Wrap(fika.NotFound, "", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, mostImported+1))
	switch {
	case err != nil:
		return "", fika.Wrap(fika.Failed, "read "+path, err)
	case len(text) > mostImported:
		return "", command.UsageError("%s is too large for a checklist: at most %s are read", path, command.ByteCount(mostImported))
	}
	return string(text), nil
}
