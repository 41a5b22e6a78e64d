package budget

import (
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/rights/limit"
	"fika/internal/service"
	"fika/internal/text/hint"
)

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the budgets: spent, set aside, left, until when", Args: command.Exactly(0, "no arguments"),
		Long:    "Lists the budgets of this home for their current periods. RESERVED is what is\nset aside for calls under way; LEFT is what the next calls may set aside.",
		Example: "  fika budget list\n  fika budget list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := budgets(e, cmd, func(service.BudgetBalance) bool { return true })
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, ToJSON)
			}
			if len(list) == 0 {
				e.Say("no budgets (fika budget set home --per day --money 5; where the model has no price: --tokens 2000000)")
				return nil
			}
			return e.Table([]string{"SCOPE", "PER", "LIMIT", "SPENT", "RESERVED", "LEFT", "UNTIL"}, command.TableRows(list, row))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

// budgets returns the budgets for which wanted returns true.
func budgets(e *command.Env, cmd *cobra.Command, wanted func(service.BudgetBalance) bool) ([]service.BudgetBalance, error) {
	c, err := e.Service(cmd.Context())
	if err != nil {
		return nil, err
	}
	all, err := c.Budgets().List(cmd.Context())
	var out []service.BudgetBalance
	for _, b := range all {
		if wanted(b) {
			out = append(out, b)
		}
	}
	return out, err
}

func row(b service.BudgetBalance) []string {
	scope, until := b.Scope, "-"
	if b.Holder != "" {
		scope += " " + b.Holder
	}
	if !b.Window.Ends.IsZero() {
		until = limit.ClockText(b.Window.Ends)
	}
	return []string{scope, string(b.Budget.Per), b.AmountText(b.Amount), b.AmountText(b.Spent), b.AmountText(b.Reserved), b.AmountText(b.AmountLeft(b.Balance)), until}
}

func newShow(e *command.Env) *cobra.Command {
	var per string
	var asJSON bool
	c := &cobra.Command{
		Use: "show SCOPE", Short: "show the budgets of one scope", Args: command.Exactly(1, "a scope such as home or agent:NAME"),
		Long:    "Shows the budgets of one scope, one per line. SCOPE is home, user, chain,\nagent:NAME or chat:NAME.",
		Example: "  fika budget show home\n  fika budget show agent:coder --per day --json", ValidArgsFunction: complete.FirstOnly(completeScopes(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := budgets(e, cmd, func(b service.BudgetBalance) bool {
				return b.Scope == args[0] && (per == "" || string(b.Budget.Per) == per)
			})
			switch {
			case err != nil:
				return err
			case len(list) == 0:
				return fika.WithHint(fika.Errorf(fika.NotFound, "", "budget of %q not found", strings.TrimSpace(args[0]+" "+per)), hint.BudgetList)
			case asJSON:
				return command.PrintLines(e, list, ToJSON)
			}
			for _, b := range list {
				if err := e.Println(service.BudgetLine(b)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&per, "per", "", "only the budget for this period: hour, day, month or total")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	_ = c.RegisterFlagCompletionFunc("per", cobra.FixedCompletions(pers(), complete.NoFiles))
	return c
}
