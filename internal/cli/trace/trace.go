package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/agent"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/report/trace"
	"fika/internal/service"
	"fika/internal/system/term"
)

// NewTrace returns the command fika trace.
func NewTrace(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "trace CHAIN|REQUEST|RUN", Short: "show where time and money went",
		Args: command.Exactly(1, "the id of a chain, a request or a run"), ValidArgsFunction: complete.FirstOnly(complete.RequestIDs(e)),
		Long: `Shows each request of a chain of messages, of a request with what it delegated,
or of a run of a workflow, and what it did when: how long it waited (w), its
model calls (m), tool calls (t) and compactions (c), and what fika took between
them (·). With several hosts, it says on which the agent is. The name of a conversation means the chain that was last active there.
The sums are those of fika usage.`,
		Example: "  fika request trace 01a1fd6e\n  fika request trace design\n  fika request trace 01a1fd6e --json | jq .cost_usd",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			t, err := c.Trace(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			where, err := c.Hosts().Where(cmd.Context())
			if err != nil {
				return err
			}
			if t.Hidden > 0 {
				e.Warn(fmt.Sprintf("%s you may not read are left out", command.Plural(t.Hidden, "request")))
			}
			if asJSON {
				return e.PrintJSON(traceToJSON(t, where))
			}
			return showTrace(e, t, where)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// Widths of the columns of a waterfall; the picture has the rest of the 80 columns.
const (
	traceLabel  = 34
	traceTook   = 7
	traceTokens = 11
	traceMoney  = 9
	traceBar    = 80 - traceLabel - traceTook - traceTokens - traceMoney - 5
)

// showTrace prints a waterfall that fits into 80 columns.
func showTrace(e *command.Env, t service.Traced, where service.Where) error {
	p := waterfall{style: e.OutStyle(), trace: t.Trace, where: where}
	head := fmt.Sprintf("%s %s\n%s in %s: %s", t.What, t.ID, command.Plural(len(t.Requests), "request"), short(t.End.Sub(t.Start)), spentOf(t.Usage, t.Unpriced))
	if err := e.Println(head); err != nil {
		return err
	}
	for _, r := range t.Requests {
		for _, line := range p.request(r) {
			if err := e.Println(line); err != nil {
				return err
			}
		}
	}
	var sums []string
	for _, k := range []trace.Kind{trace.Wait, trace.Model, trace.Tool, trace.Compaction, trace.Commit} {
		if d := t.Spent[k]; d > 0 {
			sums = append(sums, string(k)+" "+short(d))
		}
	}
	return e.Println(p.style.Dim("all together: " + strings.Join(sums, ", ")))
}

func spentOf(u fika.Usage, unpriced bool) string {
	return fmt.Sprintf("%s tokens in, %s out, %s", term.Input(u), term.Output(u), term.Money(u, unpriced))
}

type waterfall struct {
	style term.Style
	trace trace.Trace
	where service.Where
}

// request returns the line of a request, and one for each of its spans. Commits, and
// waits of less than a millisecond, are only in the picture of the first line.
func (p waterfall) request(r trace.Request) []string {
	in := strings.Repeat("  ", min(r.Level, 6))
	label := in + command.WorkedBy(r.RequestInfo)
	if host := p.where[r.AgentName]; host != "" {
		label += " on " + host
	}
	label += " " + string(r.Kind) + " " + short8(r.ID)
	if r.State != fika.Done {
		label += " " + string(r.State)
	}
	lines := []string{p.style.Bold(p.columns(label, r.End.Sub(r.CreatedAt), r.Usage, r.Unpriced)) + "  " + p.picture(r.Spans)}
	model := ""
	for _, s := range r.Spans {
		if s.Kind == trace.Commit || s.Kind == trace.Wait && s.Took < time.Millisecond {
			continue
		}
		lines = append(lines, p.columns(in+"  "+spanLabel(s), s.Took, s.Usage, s.Unpriced)+"  "+p.picture([]trace.Span{s}))
		if s.Choice != "" && s.Name != model {
			lines = append(lines, p.style.Dim(in+"    this model: "+term.CleanLine(s.Choice)))
		}
		if s.Kind == trace.Model {
			model = s.Name
		}
	}
	return lines
}

func short8(id fika.RequestID) string {
	if len(id) > 13 {
		return string(id[:13])
	}
	return string(id)
}

func spanLabel(s trace.Span) string {
	text := string(s.Kind)
	switch s.Kind {
	case trace.Model, trace.Compaction:
		text += " " + s.Name
	case trace.Tool:
		text = s.Name + " " + agent.MainArgument([]byte(s.Args))
	}
	if s.Open {
		text += " …"
	}
	return text
}

// columns returns everything in front of the picture.
func (p waterfall) columns(label string, took time.Duration, u fika.Usage, unpriced bool) string {
	label = term.Truncate(term.CleanLine(label), traceLabel)
	tokens, money := "", ""
	if u.Input+u.Output > 0 {
		tokens = term.Input(u) + "/" + term.Output(u)
	}
	if u.Input+u.Output > 0 || unpriced {
		money = term.Money(u, unpriced)
	}
	return label + strings.Repeat(" ", max(0, traceLabel-term.Width(label))) +
		fmt.Sprintf(" %*s %*s %*s", traceTook, short(took), traceTokens, tokens, traceMoney, money)
}

// short returns a duration in few characters.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return term.Duration(d)
}

// picture draws spans over the time of the whole trace; if several fall into one
// column, the longest one shows.
func (p waterfall) picture(spans []trace.Span) string {
	whole := p.trace.End.Sub(p.trace.Start)
	marks := map[trace.Kind]rune{trace.Wait: 'w', trace.Model: 'm', trace.Tool: 't', trace.Compaction: 'c', trace.Commit: '·'}
	row := []rune(strings.Repeat(" ", traceBar))
	longest := make([]time.Duration, traceBar)
	for _, s := range spans {
		from, to := 0, 0
		if whole > 0 {
			from = int(int64(s.Start.Sub(p.trace.Start)) * int64(traceBar) / int64(whole))
			to = int(int64(s.Start.Add(s.Took).Sub(p.trace.Start)) * int64(traceBar) / int64(whole))
		}
		from = min(max(from, 0), traceBar-1)
		for i := from; i <= min(max(to-1, from), traceBar-1); i++ {
			if row[i] == ' ' || s.Took > longest[i] {
				row[i], longest[i] = marks[s.Kind], s.Took
			}
		}
	}
	return strings.TrimRight(string(row), " ")
}
