package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/system/term"
)

// usageJSON is one sum of what was spent, as --json prints it. The fields by which it
// is not added up are null; so are chat and workflow for what belongs to none.
type usageJSON struct {
	Agent    command.Nullable `json:"agent"`
	Model    command.Nullable `json:"model"`
	Chat     command.Nullable `json:"chat"`
	Workflow command.Nullable `json:"workflow"`
	Day      command.Nullable `json:"day"`
	Requests int              `json:"requests"`
	Usage    fika.Usage       `json:"usage"`
	CostUSD  *float64         `json:"cost_usd"` // null: no price is known
	Unpriced bool             `json:"unpriced"` // the price of some of it is not known
}

// NewUsage returns the command fika usage.
func NewUsage(e *command.Env) *cobra.Command {
	var since, by string
	var asJSON bool
	c := &cobra.Command{
		Use: "usage", Short: "show the tokens and money spent",
		Long: `Shows tokens and money for all agents and models. COST follows from the prices
in fika model list, for another agent program from what that says; ? marks a
cost that is not known, + ? a sum that includes one, and subscription what an
account at a flat rate pays for. Budgets follow on stderr.

--by adds up by agent, model, chat, workflow or day of this machine's clock.
What an agent did in a chat, and what followed from a message there, belongs to
the chat; (none) is everything that belongs to no chat, or to no workflow;
(team) is what "a,b" and "a -> b" did.`,
		Example: "  fika usage --since 7d --by model\n  fika usage --since 30d --by day --json", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := sinceFlag(e, since)
			if err != nil {
				return err
			}
			if by != "" && !slices.Contains(service.SpendingKeys(), by) {
				return command.UsageError("--by is one of %s, not %q", strings.Join(service.SpendingKeys(), ", "), by)
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			lines, total, err := c.Spending(cmd.Context(), from, by)
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintLines(e, lines, usageToJSON)
			}
			if err := showUsage(e, lines, total, by); err != nil {
				return err
			}
			budgets, err := c.Budgets().List(cmd.Context())
			for _, b := range budgets {
				e.Say("budget of %s", service.BudgetLine(b))
			}
			return err
		},
	}
	c.Flags().StringVar(&since, "since", "", "only what was spent in the last 24h, 7d …")
	c.Flags().StringVar(&by, "by", "", "add up by "+strings.Join(service.SpendingKeys(), ", ")+" (default: agent and model)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(service.SpendingKeys(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// sinceFlag returns the time that lies the duration since before now; the zero time if
// since is "".
func sinceFlag(e *command.Env, since string) (time.Time, error) {
	if since == "" {
		return time.Time{}, nil
	}
	d, ok := config.ParseDuration(since)
	if !ok {
		return time.Time{}, command.UsageError("--since %q is not a duration such as 24h or 7d", since)
	}
	return e.Now().Add(-d), nil
}

func usageToJSON(s service.Spent) usageJSON {
	l := usageJSON{
		Agent: command.Nullable(s.Agent), Model: command.Nullable(s.Model), Chat: command.Nullable(s.Chat), Workflow: command.Nullable(s.Workflow), Day: command.Nullable(s.Day),
		Requests: s.Requests, Usage: s.Usage, Unpriced: s.Unpriced,
	}
	if usd := float64(s.Usage.Cost) / 1e6; usd > 0 || !s.Unpriced {
		l.CostUSD = &usd
	}
	return l
}

func showUsage(e *command.Env, lines []service.Spent, total service.Spent, by string) error {
	if len(lines) == 0 {
		e.Say("nothing was spent")
		return nil
	}
	names := func(s service.Spent) []string { return []string{string(s.Agent), s.Model} }
	headers, last := []string{"AGENT", "MODEL"}, []string{"total", ""}
	if by != "" {
		names = func(s service.Spent) []string {
			name := string(s.Agent) + s.Model + string(s.Chat) + s.Workflow + s.Day // at most one is not empty
			if name == "" {
				name = "(none)"
			}
			return []string{name}
		}
		headers, last = []string{strings.ToUpper(by)}, []string{"total"}
	}
	figures := func(s service.Spent) []string {
		return []string{fmt.Sprint(s.Requests), term.Input(s.Usage), term.ShortCount(s.Usage.Cached), term.Output(s.Usage), term.Money(s.Usage, s.Unpriced)}
	}
	rows := command.TableRows(lines, func(s service.Spent) []string { return append(names(s), figures(s)...) })
	return e.Table(append(headers, "REQUESTS", "INPUT", "CACHED", "OUTPUT", "COST"), append(rows, append(last, figures(total)...)))
}
