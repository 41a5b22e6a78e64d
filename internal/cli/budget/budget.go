package budget

import (
	"time"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/rights/limit"
	"fika/internal/service"
)

// New returns the command fika budget.
func New(e *command.Env) *cobra.Command {
	return command.Group("budget", "show and set what may be spent",
		"A budget ([[budgets]] in config.toml) limits the money or tokens that a home,\neach user, an agent, a chat or each chain may use in an hour, a day, a month or\nin total. What a call may cost is set aside before the call is made.",
		"  fika budget set home --per day --money 5\n  fika budget list", newList(e), newShow(e), newSet(e), newRemove(e))
}

// JSON is a budget and its balance, as --json prints it.
type JSON struct {
	Scope    string           `json:"scope"`
	Per      string           `json:"per"`
	Holder   command.Nullable `json:"holder"` // the user or chain whose share this is
	Limit    amount           `json:"limit"`
	Spent    amount           `json:"spent"`
	Reserved amount           `json:"reserved"`
	Left     amount           `json:"left"`
	Begins   *time.Time       `json:"begins"` // null, like Until: the period is total
	Until    *time.Time       `json:"until"`
}

// amount is null in the unit that a budget does not limit.
type amount struct {
	USD    *float64 `json:"usd"`
	Tokens *int64   `json:"tokens"`
}

// ToJSON returns a budget as --json prints it.
func ToJSON(b service.BudgetBalance) JSON {
	of := func(a limit.Amount) (out amount) {
		if b.Money > 0 {
			usd := float64(a.Money) / 1e6
			out.USD = &usd
		}
		if b.Tokens > 0 {
			out.Tokens = &a.Tokens
		}
		return out
	}
	return JSON{
		Scope: b.Scope, Per: string(b.Budget.Per), Holder: command.Nullable(b.Holder),
		Limit: of(b.Amount), Spent: of(b.Spent), Reserved: of(b.Reserved), Left: of(b.AmountLeft(b.Balance)),
		Begins: command.JSONTime(b.Window.Begins), Until: command.JSONTime(b.Window.Ends),
	}
}

// completeScopes completes the scopes of budgets.
func completeScopes(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		out := []cobra.Completion{
			complete.WithAbout("home", "everything here"), complete.WithAbout("user", "each person's"), complete.WithAbout("chain", "each chain's"),
		}
		for kind, names := range map[string]cobra.CompletionFunc{"agent": complete.AgentNames(e), "chat": complete.ChatNames(e)} {
			list, _ := names(cmd, nil, "")
			for _, name := range list {
				out = append(out, kind+":"+name)
			}
		}
		return out, complete.NoFiles
	}
}

func pers() (out []string) {
	for _, p := range limit.AllPeriods() {
		out = append(out, string(p))
	}
	return out
}
