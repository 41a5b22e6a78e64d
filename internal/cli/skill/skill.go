package skill

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
)

// New returns the command fika skill.
func New(e *command.Env) *cobra.Command {
	return command.Group("skill", "list, check and add skills",
		"A skill is a folder with a SKILL.md in the open Agent Skills format: instructions\nfor a certain task, with scripts and texts beside them. Agents with the setting\nskills see the names and descriptions, and load a skill when it fits.",
		"  fika skill list\n  fika skill check ./pdf-forms\n  fika skill add ./pdf-forms",
		newList(e), newShow(e), newCheck(e), newAdd(e), newRemove(e))
}

// names completes the names of skills.
func names(e *command.Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		if strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		list, err := setup.Skills(e.App())
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, s := range list {
			out = append(out, complete.WithAbout(s.Name, term.Truncate(s.Description, 60)))
		}
		return out, complete.NoFiles
	}
}
