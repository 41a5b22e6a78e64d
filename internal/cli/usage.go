package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/config"
	"fika/internal/term"
)

// usageLine is what was spent under one name.
type usageLine struct {
	Agent    command.Nullable `json:"agent"` // null: of all
	Model    command.Nullable `json:"model"`
	Requests int              `json:"requests"`
	Usage    fika.Usage       `json:"usage"`
	CostUSD  *float64         `json:"cost_usd"` // null: no price is known
	Unpriced bool             `json:"unpriced"` // some of it has no price that is known
}

func newUsage(e *command.Env) *cobra.Command {
	var since, by string
	var asJSON bool
	c := &cobra.Command{
		Use: "usage", Short: "show what was spent: tokens and money",
		Long: `Shows tokens and money over all agents and models. COST is what the
prices of fika model list make of them; ? is a model whose price is not known,
and a sum with + ? holds one. Budgets follow on stderr.`,
		Example: "  fika usage --since 7d --by model", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var from time.Time
			if since != "" {
				d, ok := config.ParseDuration(since)
				if !ok {
					return command.UsageError("--since %q is not a duration such as 24h or 7d", since)
				}
				from = e.Now().Add(-d)
			}
			if by != "" && by != "agent" && by != "model" {
				return command.UsageError("--by is agent or model, not %q", by)
			}
			c, err := e.Client(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Usage(cmd.Context(), from)
			if err != nil {
				return err
			}
			if err := showUsage(e, addUp(list, by, c.CostKnown), by, asJSON); err != nil || asJSON {
				return err
			}
			budgets, err := c.Budgets(cmd.Context())
			for _, b := range budgets {
				e.Say("budget of %s", client.BudgetLine(b))
			}
			return err
		},
	}
	c.Flags().StringVar(&since, "since", "", "only what was spent in the last 24h, 7d …")
	c.Flags().StringVar(&by, "by", "", "add up by agent or by model (default: both apart)")
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"agent", "model"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func showUsage(e *command.Env, lines []usageLine, by string, asJSON bool) error {
	if asJSON {
		return command.PrintLines(e, lines, func(l usageLine) usageLine { return l })
	}
	if len(lines) == 0 {
		e.Say("nothing was spent")
		return nil
	}
	total := usageLine{Agent: "total"}
	for _, l := range lines {
		total.Requests += l.Requests
		total.Usage = total.Usage.Add(l.Usage)
		total.Unpriced = total.Unpriced || l.Unpriced
	}
	if by == "model" {
		total.Agent, total.Model = "", "total"
	}
	headers := []string{"AGENT", "MODEL", "REQUESTS", "INPUT", "CACHED", "OUTPUT", "COST"}
	cut := func(row []string) []string {
		switch by {
		case "agent":
			return append(row[:1:1], row[2:]...)
		case "model":
			return row[1:]
		}
		return row
	}
	return e.Table(cut(headers), command.Rows(append(lines, total), func(l usageLine) []string { return cut(l.row()) }))
}

func (l usageLine) row() []string {
	return []string{
		string(l.Agent), string(l.Model), fmt.Sprint(l.Requests), term.Count(l.Usage.Input), term.Count(l.Usage.Cached), term.Count(l.Usage.Output),
		l.cost(),
	}
}

// cost is the money of a line, as far as it is known.
func (l usageLine) cost() string {
	switch {
	case l.Unpriced && l.Usage.Cost == 0:
		return "?"
	case l.Unpriced:
		return term.Dollars(l.Usage.Cost) + " + ?"
	}
	return term.Dollars(l.Usage.Cost)
}

// addUp sums the rows by agent, by model, or by both, the dearest first.
func addUp(list []client.UsageRow, by string, known func(client.UsageRow) bool) []usageLine {
	sums := map[[2]string]*usageLine{}
	var out []*usageLine
	for _, r := range list {
		key := [2]string{string(r.Agent), r.Model}
		switch by {
		case "agent":
			key[1] = ""
		case "model":
			key[0] = ""
		}
		l := sums[key]
		if l == nil {
			l = &usageLine{Agent: command.Nullable(key[0]), Model: command.Nullable(key[1])}
			sums[key] = l
			out = append(out, l)
		}
		l.Requests += r.Requests
		l.Usage = l.Usage.Add(r.Usage)
		l.Unpriced = l.Unpriced || !known(r)
		if usd := float64(l.Usage.Cost) / 1e6; usd > 0 || !l.Unpriced {
			l.CostUSD = &usd
		}
	}
	slices.SortFunc(out, func(a, b *usageLine) int {
		return cmp.Or(cmp.Compare(b.Usage.Cost, a.Usage.Cost), cmp.Compare(b.Usage.Input+b.Usage.Output, a.Usage.Input+a.Usage.Output), cmp.Compare(a.Agent+a.Model, b.Agent+b.Model))
	})
	lines := make([]usageLine, 0, len(out))
	for _, l := range out {
		lines = append(lines, *l)
	}
	return lines
}
