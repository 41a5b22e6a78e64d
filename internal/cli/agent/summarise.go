package agent

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
	"fika/internal/worker"
)

func newSummarise(e *command.Env) *cobra.Command {
	var model string
	var asJSON bool
	c := &cobra.Command{
		Use: "summarise NAME", Aliases: []string{"summarize"}, Short: "summarise what an agent's conversation is about now",
		Long: `Has a model summarise what an agent currently sees of its ongoing conversation,
including the earlier summary, and prints the result. The agent may be at work:
it does not wait, and the conversation does not change. What the model used is
in fika usage. fika context compact NAME replaces the conversation by a summary.`,
		Example: "  fika agent summarise coder\n  fika agent summarise coder -m small --json | jq -r .summary",
		Args:    command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			flags := map[string]string{}
			if model != "" {
				flags["model"] = model
			}
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			row, err := c.Agents.FindLone(ctx, args[0])
			if err != nil {
				return err
			}
			done, err := worker.Summarise(ctx, e.App(), row.Name, flags, e.Warn)
			if err != nil {
				return err
			}
			return printSummary(e, done, asJSON)
		},
	}
	f := c.Flags()
	f.StringVarP(&model, "model", "m", "", "model that writes the summary (id or nickname)")
	command.JSONFlag(c, &asJSON)
	_ = c.RegisterFlagCompletionFunc("model", complete.ModelNames(e))
	return c
}

// summaryJSON is a summary for programs.
type summaryJSON struct {
	Agent   fika.AgentName `json:"agent"`
	Summary string         `json:"summary"`
	Entries int            `json:"entries"` // entries read for it
	Model   *string        `json:"model"`   // the model that wrote it; null: it existed already
	Taint   *string        `json:"taint"`   // what text from outside it may hold
	Usage   fika.Usage     `json:"usage"`
}

func printSummary(e *command.Env, s worker.Summarised, asJSON bool) error {
	if asJSON {
		return e.PrintJSON(summaryJSON{
			Agent: s.Context, Summary: s.Summary, Entries: s.Entries, Model: command.Optional(s.Model), Taint: command.Optional(s.Taint), Usage: s.Usage,
		})
	}
	if s.Model == "" {
		e.Say("nothing has been said to @%s since this summary was written", s.Context)
	} else {
		e.Say("@%s: %d entries, summed up by %s (%d tokens read, %d written)", s.Context, s.Entries, s.Model, s.Usage.Input, s.Usage.Output)
	}
	if s.Taint != "" {
		e.Say("it may hold text from outside: %s", term.CleanLine(s.Taint))
	}
	return e.PrintText(s.Summary)
}
