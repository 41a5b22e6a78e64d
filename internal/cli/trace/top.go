package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/report/trace"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

// topRow is the state of an agent, and what its requests took and spent.
type topRow struct {
	view    service.AgentView
	profile service.AgentProfile // of no requests if it has not worked
}

type topJSON struct {
	profileJSON
	Host    *string          `json:"host"` // that it is on; null: there is only one
	Status  fika.AgentState  `json:"status"`
	Doing   command.Nullable `json:"doing"`
	Waiting int              `json:"waiting"` // requests and chats it could take now
	Running int              `json:"running"`
}

// NewTop returns the command fika top.
func NewTop(e *command.Env) *cobra.Command {
	var since string
	var asJSON bool
	c := &cobra.Command{
		Use: "top", Short: "watch what agents do, what takes their time and what they spend",
		Long: `Shows the agents, and keeps the table up to date until Ctrl-C: what is under way
and what waits (RUN, Q); the median and the 95th percentile of the time that
requests waited, and of model calls, tool calls and fika's own work (COMMIT);
tokens and money, as the sums of the ledger for the requests submitted or ended
in that time. Piped, or with --json, it prints once.`,
		Example: "  fika usage top\n  fika usage top --since 7d\n  fika usage top --json | jq '{agent, status, p95: .model.p95_ms}'",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := sinceFlag(e, since); err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			if e.OutTTY && !asJSON {
				return watchTop(cmd.Context(), e, c, since)
			}
			list, err := topRows(cmd.Context(), e, c, since)
			switch {
			case err != nil:
				return err
			case asJSON:
				return command.PrintLines(e, list, topToJSON)
			case len(list) == 0:
				e.Say("there are no agents")
				return nil
			}
			return e.Table(topTable(list))
		},
	}
	c.Flags().StringVar(&since, "since", "1h", "requests submitted or ended in the last 1h, 7d …")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, once")
	return c
}

// topRows returns all agents, and also the contexts without an [[agents]] entry that
// have worked in the time that since names.
func topRows(ctx context.Context, e *command.Env, c *service.Service, since string) ([]topRow, error) {
	from, err := sinceFlag(e, since)
	if err != nil {
		return nil, err
	}
	views, err := c.Agents.List(ctx, false)
	if err != nil {
		return nil, err
	}
	profiles, err := c.Profile(ctx, "", from)
	if err != nil {
		return nil, err
	}
	var list []topRow
	for _, v := range views {
		list = append(list, topRow{view: v, profile: service.AgentProfile{AgentProfile: trace.AgentProfile{Agent: v.Row.Name}}})
	}
	for _, p := range profiles {
		known := false
		for i := range list {
			if list[i].view.Row.Name == p.Agent {
				list[i].profile, known = p, true
			}
		}
		if !known { // a mere context
			list = append(list, topRow{view: service.AgentView{Row: fika.Agent{Name: p.Agent}, Status: fika.AgentStopped}, profile: p})
		}
	}
	return list, nil
}

// topTable returns the header and the rows of the table; the last one is the sum.
func topTable(list []topRow) ([]string, [][]string) {
	var sum topRow
	var where service.Where
	for _, r := range list {
		if r.view.Host != "" && where == nil {
			where = service.Where{}
		}
		if where != nil {
			where[r.view.Row.Name] = r.view.Host
		}
		sum.view.Waiting += r.view.Waiting
		sum.view.Running = append(sum.view.Running, r.view.Running...)
		sum.profile.Usage.Input += r.profile.Usage.Input
		sum.profile.Usage.Output += r.profile.Usage.Output
		sum.profile.Usage.Cost += r.profile.Usage.Cost
		sum.profile.Unpriced = sum.profile.Unpriced || r.profile.Unpriced
	}
	head, rows := command.WithHosts(where, 1, []string{"AGENT", "STATUS", "RUN", "Q", "WAIT", "MODEL", "TOOL", "COMMIT", "TOKENS", "COST"},
		append(slices.Clone(list), sum), func(r topRow) fika.AgentName { return r.view.Row.Name }, topCells)
	cells := rows[len(rows)-1]
	for i, h := range head {
		switch h {
		case "AGENT":
			cells[i] = "all"
		case "HOST", "STATUS", "WAIT", "MODEL", "TOOL", "COMMIT":
			cells[i] = ""
		}
	}
	return head, rows
}

func topCells(r topRow) []string {
	of := func(k trace.Kind) string {
		d, there := r.profile.Spans[k]
		if !there {
			return "-"
		}
		return tiny(d.P50) + "/" + tiny(d.P95)
	}
	u := r.profile.Usage
	return []string{
		term.Truncate(string(r.view.Row.Name), 12), r.view.StatusWord(), fmt.Sprint(len(r.view.Running)), fmt.Sprint(r.view.Waiting),
		of(trace.Wait), of(trace.Model), of(trace.Tool), of(trace.Commit), term.Tokens(u.Input+u.Output, u.Estimated), term.Money(u, r.profile.Unpriced),
	}
}

// tiny returns a duration in at most four characters.
func tiny(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Second:
		return strings.TrimPrefix(fmt.Sprintf("%.1fs", max(0.1, min(0.9, d.Seconds()))), "0")
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 100*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

func topToJSON(r topRow) topJSON {
	return topJSON{profileJSON: profileToJSON(r.profile), Host: command.Optional(r.view.Host), Status: r.view.Status, Doing: command.Nullable(words.Brief(r.view.Why, time.Now())), Waiting: r.view.Waiting, Running: len(r.view.Running)}
}

// watchTop keeps the table up to date until ctx ends.
func watchTop(ctx context.Context, e *command.Env, c *service.Service, since string) error {
	return e.Watch(ctx, func() (string, error) {
		list, err := topRows(ctx, e, c, since)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("fika usage top, the last %s, at %s; Ctrl-C ends it\n\n", since, e.App().Now().Format("15:04:05")) + e.TableText(topTable(list)), nil
	})
}
