package board

import (
	"github.com/spf13/cobra"

	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/text/words"
)

// whyJSON is what board why --json prints.
type whyJSON struct {
	Task  JSON         `json:"task"`
	Why   []api.Status `json:"why"`
	Texts []string     `json:"texts"` // the same in words
}

func newWhy(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "why TASK", Short: "why nobody takes a task", Args: command.Exactly(1, "the number of a task"), ValidArgsFunction: numbers(e, false),
		Long: "Says what a task waits for: tasks that it needs, a person, or, of each agent that\nmay take it, why it does not.", Example: "  fika board why 12",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := number(args[0])
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			w, err := c.Board().Why(cmd.Context(), n)
			switch {
			case err != nil:
				return err
			case asJSON:
				return e.PrintJSON(whyJSON{ToJSON(w.TaskInfo), w.Why, words.All(w.Why, e.Now())})
			}
			for _, s := range w.Why {
				if err := e.AnswerText(e.Words(s), false); err != nil {
					return err
				}
			}
			return nil
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}
