package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/llm/modelcheck"
	"fika/internal/system/term"
)

type findingJSON struct {
	Name  string `json:"name"`
	Works bool   `json:"works"`
	Said  string `json:"said"`
}

type checkJSON struct {
	Model     string        `json:"model"`
	Findings  []findingJSON `json:"findings"`
	Calls     int           `json:"calls"`
	Input     int64         `json:"input_tokens"`
	Output    int64         `json:"output_tokens"`
	Estimated bool          `json:"estimated"` // the server reported no tokens
	CostUSD   *float64      `json:"cost_usd"`  // null: the price is not known
	Error     *string       `json:"error"`     // why the model could not be asked
}

func newCheck(e *command.Env) *cobra.Command {
	var asJSON bool
	var only []string
	c := &cobra.Command{
		Use: "check MODEL", Short: "ask a model a few tiny questions, and say what works",
		Long: "Checks " + strings.Join(modelcheck.Names, ", ") + `, with one or two
calls each, and says what that has cost. Caching takes the most: some 10,000
tokens. The exit status is 1 if something does not work, 5 if the model cannot be
asked, and 2 if there is no key for it.`,
		Example: "  fika model check sonnet\n  fika model check sonnet --only tools,schema --json",
		Args:    command.Exactly(1, "the id or nickname of a model"), ValidArgsFunction: complete.FirstOnly(complete.ModelNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range only {
				if !slices.Contains(modelcheck.Names, name) {
					return command.UsageError("--only %s: not a check; known: %s", name, strings.Join(modelcheck.Names, ", "))
				}
			}
			if err := e.App().CheckModel(args[0]); err != nil {
				return err
			}
			s, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			r, err := s.CheckModel(cmd.Context(), args[0], only)
			if r.Calls == 0 {
				return err
			}
			return errors.Join(printCheck(e, args[0], r, err, asJSON), err, failing(r, err))
		},
	}
	c.Flags().StringSliceVar(&only, "only", nil, "check only these, separated by commas")
	_ = c.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(modelcheck.Names, cobra.ShellCompDirectiveNoFileComp))
	command.JSONFlag(c, &asJSON)
	return c
}

// failing gives the exit status if the model was asked and something does not work.
func failing(r modelcheck.Report, err error) error {
	if err == nil && slices.ContainsFunc(r.Findings, func(f modelcheck.Finding) bool { return !f.Works }) {
		return command.Silent{Kind: fika.Failed}
	}
	return nil
}

func printCheck(e *command.Env, model string, r modelcheck.Report, failed error, asJSON bool) error {
	u := r.Usage
	if asJSON {
		out := checkJSON{Model: model, Findings: []findingJSON{}, Calls: r.Calls, Input: u.Input, Output: u.Output, Estimated: u.Estimated}
		for _, f := range r.Findings {
			out.Findings = append(out.Findings, findingJSON(f))
		}
		if usd := float64(u.Cost) / 1e6; !u.Unpriced {
			out.CostUSD = &usd
		}
		if failed != nil {
			out.Error = command.Optional(failed.Error())
		}
		return e.PrintLine(out)
	}
	for _, f := range r.Findings {
		mark := "✗"
		if f.Works {
			mark = "✓"
		}
		if err := e.Println(fmt.Sprintf("%s %-9s %s", mark, f.Name, term.CleanLine(f.Said))); err != nil {
			return err
		}
	}
	e.Say("%s, %s tokens read, %s written, cost %s", command.Plural(r.Calls, "call"), term.Input(u), term.Output(u), term.Money(u, u.Unpriced))
	return nil
}
