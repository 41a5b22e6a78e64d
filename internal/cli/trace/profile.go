package trace

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/report/trace"
	"fika/internal/service"
	"fika/internal/system/term"
)

// durationsJSON describes the durations of the spans of one kind, in milliseconds.
type durationsJSON struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	Sum float64 `json:"sum_ms"`
}

type profileJSON struct {
	Agent      fika.AgentName `json:"agent"`
	Requests   int            `json:"requests"`
	Wait       durationsJSON  `json:"wait"`
	Model      durationsJSON  `json:"model"`
	Tool       durationsJSON  `json:"tool"`
	Compaction durationsJSON  `json:"compaction"`
	Commit     durationsJSON  `json:"commit"`
	Usage      fika.Usage     `json:"usage"`
	CostUSD    *float64       `json:"cost_usd"` // null: no price is known
	Unpriced   bool           `json:"unpriced"` // the price of some of it is not known
}

// NewProfile returns the command fika profile.
func NewProfile(e *command.Env) *cobra.Command {
	var since, agent string
	var asJSON bool
	c := &cobra.Command{
		Use: "profile", Short: "show what agents spend their time on",
		Long: `Shows for each agent how long its requests waited (for the agent, a pause,
another agent's answer), and how long model calls, tool calls and fika's own
work between them (COMMIT) took: the median and the 95th percentile of
everything that has ended. IN, OUT and COST are the sums of the ledger for these
requests. fika request trace shows a single one.`,
		Example: "  fika usage profile\n  fika usage profile --since 7d --agent coder\n  fika usage profile --json | jq '{agent, p95: .model.p95_ms}'",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := sinceFlag(e, since)
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			var row fika.Agent
			if agent != "" {
				if row, err = c.Agents.FindKnown(cmd.Context(), agent); err != nil {
					return err
				}
			}
			list, err := c.Profile(cmd.Context(), row.ID, from)
			switch {
			case err != nil:
				return err
			case asJSON:
				return command.PrintLines(e, list, profileToJSON)
			case len(list) == 0:
				e.Say("no agent has worked in that time")
				return nil
			}
			return e.Table([]string{"AGENT", "REQUESTS", "WAIT", "MODEL", "TOOL", "COMMIT", "IN", "OUT", "COST"}, command.TableRows(list, profileRow))
		},
	}
	c.Flags().StringVar(&since, "since", "24h", "only requests submitted or ended in the last 24h, 7d …")
	c.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, with sums and compactions")
	_ = c.RegisterFlagCompletionFunc("agent", complete.AgentNames(e))
	return c
}

func profileRow(a service.AgentProfile) []string {
	of := func(k trace.Kind) string {
		d, there := a.Spans[k]
		if !there {
			return "-"
		}
		return short(d.P50) + " / " + short(d.P95)
	}
	return []string{
		string(a.Agent), fmt.Sprint(a.Requests), of(trace.Wait), of(trace.Model), of(trace.Tool), of(trace.Commit),
		term.Input(a.Usage), term.Output(a.Usage), term.Money(a.Usage, a.Unpriced),
	}
}

func profileToJSON(a service.AgentProfile) profileJSON {
	of := func(k trace.Kind) durationsJSON {
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		d := a.Spans[k]
		return durationsJSON{d.N, ms(d.P50), ms(d.P95), ms(d.Sum)}
	}
	l := profileJSON{
		Agent: a.Agent, Requests: a.Requests, Wait: of(trace.Wait), Model: of(trace.Model), Tool: of(trace.Tool), Compaction: of(trace.Compaction), Commit: of(trace.Commit),
		Usage: a.Usage, Unpriced: a.Unpriced,
	}
	if usd := float64(a.Usage.Cost) / 1e6; usd > 0 || !a.Unpriced {
		l.CostUSD = &usd
	}
	return l
}
