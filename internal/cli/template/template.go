package template

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/template"
	"fika/internal/system/term"
)

// New returns the command fika template.
func New(e *command.Env) *cobra.Command {
	return command.Group("template", "list and show the agents to start from", `Templates are agents from which fika agent create makes your own. Some come with
fika; a file NAME.md in templates/ of ~/.fika is a template of yours, and
replaces one of the same name that comes with fika. fika init makes teams of
them.`,
		"  fika agent template list\n  fika agent template show reviewer\n  fika agent create critic --template reviewer",
		newList(e), newShow(e))
}

// templateJSON is a template as --json prints it; only show adds the text.
type templateJSON struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
	File        *string `json:"file"` // null: it comes with fika
}

type shownJSON struct {
	templateJSON
	Text string `json:"text"`
}

func toJSON(t template.Template) templateJSON {
	return templateJSON{t.Name, command.Optional(t.Description()), command.Optional(t.File)}
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the templates", Example: "  fika agent template list", Args: command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			set, err := setup.AgentTemplates(e.App())
			if err != nil {
				return err
			}
			list, err := set.List()
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, toJSON)
			}
			return e.Table([]string{"TEMPLATE", "FROM", "ABOUT"}, command.TableRows(list, func(t template.Template) []string {
				from := "fika"
				if t.File != "" {
					from = "you"
				}
				return []string{t.Name, from, term.CleanLine(t.Description())}
			}))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show TEMPLATE", Short: "show the text of a template",
		Example: "  fika agent template show coder\n  fika agent template show coder > ~/.fika/templates/mine.md",
		Args:    command.Exactly(1, "the name of a template"), ValidArgsFunction: complete.FirstOnly(complete.TemplateNames(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := setup.AgentTemplates(e.App())
			if err != nil {
				return err
			}
			t, err := set.Find(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(shownJSON{toJSON(t), t.Text})
			}
			return e.PrintText(t.Text)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
