package budget

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/settings/config"
)

// setOptions are the flags of budget set.
type setOptions struct {
	*command.Env
	per    string
	money  float64
	tokens int64
	remove bool
}

func newSet(e *command.Env) *cobra.Command {
	o := &setOptions{Env: e}
	c := &cobra.Command{
		Use: "set SCOPE", Short: "set or remove a budget",
		Long: `Writes a budget into config.toml, in place of the one with the same scope and
--per, if any. What was spent earlier in the current period counts, too.

Work for which an hour or a day has no room waits for the next one; with a
budget for a month or in total it fails. fika run fails at once (exit status 8).
A budget in money needs models whose prices are known: fika model list.`,
		Example: "  fika budget set home --per day --money 5\n  fika budget set agent:coder --per hour --tokens 2000000\n  fika budget set home --per day --remove",
		Args:    command.Exactly(1, "a scope: home, user, chain, agent:NAME or chat:NAME"), ValidArgsFunction: complete.FirstOnly(completeScopes(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			changed := cmd.Flags().Changed
			if o.remove && (changed("money") || changed("tokens")) {
				return command.UsageError("--remove goes with neither --money nor --tokens")
			}
			if !o.remove && !changed("money") && !changed("tokens") {
				return command.UsageError("specify --money, --tokens or --remove")
			}
			if math.IsNaN(o.money) || o.money > 1e9 || changed("money") && o.money < 0.000001 || changed("tokens") && o.tokens <= 0 {
				return command.UsageError("--money must be between 0.000001 and 1e9, --tokens more than 0")
			}
			return o.run(cmd.Context(), args[0])
		},
	}
	f := c.Flags()
	f.Float64Var(&o.money, "money", 0, "limit in US dollars")
	f.Int64Var(&o.tokens, "tokens", 0, "limit in tokens, read and written")
	f.BoolVar(&o.remove, "remove", false, "remove the budget")
	o.perFlag(c)
	return c
}

func newRemove(e *command.Env) *cobra.Command {
	o := &setOptions{Env: e, remove: true}
	c := &cobra.Command{
		Use: "remove SCOPE", Short: "remove a budget",
		Long:    "Removes the budget of a scope and --per from config.toml, so that it limits\nnothing any more. The same as fika budget set --remove.",
		Example: "  fika budget remove home --per day",
		Args:    command.Exactly(1, "a scope: home, user, chain, agent:NAME or chat:NAME"), ValidArgsFunction: complete.FirstOnly(completeScopes(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	o.perFlag(c)
	return command.AcceptYes(c)
}

func (o *setOptions) perFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.per, "per", "", "period: hour, day, month or total")
	_ = c.RegisterFlagCompletionFunc("per", cobra.FixedCompletions(pers(), complete.NoFiles))
}

func (o *setOptions) run(ctx context.Context, scope string) error {
	if o.per == "" {
		return command.UsageError("specify --per hour, day, month or total")
	}
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	b := config.Budget{Scope: scope, Per: o.per, Money: config.MicroDollars(math.Round(o.money * 1e6)), Tokens: o.tokens}
	stands, err := c.Budgets().Set(ctx, b, o.remove)
	if err != nil {
		return err
	}
	if o.remove {
		o.Say("removed the budget of %s per %s", scope, o.per)
	}
	for _, k := range stands {
		o.Say("budget of %s", service.BudgetLine(k))
	}
	return nil
}
