package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/term"
)

// agentCommands are the commands of fika agent beside run.
func agentCommands(e *env) []*cobra.Command {
	return []*cobra.Command{
		newAgentList(e), newAgentStart(e), newAgentStop(e), newAgentRestart(e), newAgentHealth(e),
		newAgentAttach(e), newAgentLogs(e), newAgentReset(e),
	}
}

// agentJSON is an agent as --json shows it.
type agentJSON struct {
	Name        fika.AgentName  `json:"name"`
	DisplayName *string         `json:"display_name"`
	Description *string         `json:"description"`
	Can         []string        `json:"capabilities"`
	Configured  bool            `json:"configured"`
	Status      fika.AgentState `json:"status"`
	Why         *string         `json:"why"`
	Trouble     *string         `json:"trouble"`
	Desired     *fika.Desired   `json:"desired"`
	PID         *int            `json:"pid"`
	Model       *string         `json:"model"`
	StartedAt   *time.Time      `json:"started_at"`
	SeenAt      *time.Time      `json:"seen_at"`
	Uptime      *int64          `json:"uptime_seconds"`
	Processed   int64           `json:"requests"`
	Waiting     int             `json:"waiting"`
	Running     []string        `json:"running"`
	HeldUntil   *time.Time      `json:"held_until"` // its hour is used up until then
}

func toAgentJSON(v client.AgentView) agentJSON {
	j := agentJSON{
		Name: v.Row.Name, DisplayName: optional(v.Row.DisplayName), Description: optional(v.Row.Description), Can: append([]string{}, v.Can...), Configured: v.Entry,
		Status: v.Status, Why: optional(v.Why), Trouble: optional(v.Trouble), Desired: optional(v.Row.Desired), PID: optional(v.PID), Model: optional(v.Model),
		StartedAt: stamp(v.Since), SeenAt: stamp(v.Row.SeenAt), Processed: v.Processed, Waiting: v.Waiting, Running: []string{},
		HeldUntil: stamp(v.HeldUntil),
	}
	if !v.Since.IsZero() {
		j.Uptime = optional(int64(time.Since(v.Since) / time.Second))
	}
	for _, r := range v.Running {
		j.Running = append(j.Running, string(r.ID))
	}
	return j
}

var agentHeaders = []string{"AGENT", "STATUS", "PID", "MODEL", "UPTIME", "REQUESTS", "WAITING", "WHY"}

func agentRow(v client.AgentView) []string {
	pid, up, done := "-", "-", "-"
	if v.PID != 0 {
		pid = fmt.Sprint(v.PID)
	}
	if !v.Since.IsZero() {
		up, done = uptime(v.Since), fmt.Sprint(v.Processed)
	}
	why := v.Why
	if why == "" {
		why = v.Trouble
	}
	return []string{string(v.Row.Name), string(v.Status), pid, dash(v.Model), up, done, fmt.Sprint(v.Waiting), term.CleanLine(why)}
}

// shortAgentTable prints agents without what they are good at.
func (e *env) shortAgentTable(views []client.AgentView) error {
	return e.Table(agentHeaders, rows(views, agentRow))
}

// agentTable prints agents; what they are good at has a column when one of them
// says so.
func (e *env) agentTable(views []client.AgentView) error {
	if !slices.ContainsFunc(views, func(v client.AgentView) bool { return len(v.Can) > 0 }) {
		return e.shortAgentTable(views)
	}
	const last = 7 // before WHY, which may be long
	return e.Table(slices.Insert(slices.Clone(agentHeaders), last, "CAPABILITIES"), rows(views, func(v client.AgentView) []string {
		return slices.Insert(agentRow(v), last, dash(term.CleanLine(strings.Join(v.Can, ", "))))
	}))
}

// uptime is how long ago t was, in whole seconds.
func uptime(t time.Time) string {
	return term.Duration(max(time.Since(t).Round(time.Second), time.Second))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func newAgentList(e *env) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list agents, with what they are doing",
		Long: `Lists the agents of the config, and others that run or have work waiting.
REQUESTS counts what the process has finished since it started, WAITING the
requests and chats it could take now. Works without a hub.`,
		Example: "  fika agent list\n  fika agent list --json | jq -r 'select(.status==\"failed\").name'", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			views, err := c.Agents.List(cmd.Context(), all)
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, views, toAgentJSON)
			}
			if len(views) == 0 {
				e.say("no agents; add [[agents]] to %s, or see the contexts: fika agent list --all", "config.toml")
				return nil
			}
			return e.agentTable(views)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also contexts that have never been more")
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

// namedAgents finds the agents that the arguments name.
func namedAgents(ctx context.Context, agents *client.Agents, args []string, all bool) ([]fika.Agent, error) {
	switch {
	case all && len(args) > 0:
		return nil, usageError("give names or --all, not both")
	case all:
		args = []string{"*"}
	case len(args) == 0:
		return nil, usageError("which agent? give a name, a pattern such as 'r*', or --all; fika agent list shows them")
	}
	return agents.Match(ctx, args)
}

// agentsFor finds the agents that the arguments name, and starts a hub for
// them.
func (e *env) agentsFor(ctx context.Context, args []string, all bool) (agents *client.Agents, list []fika.Agent, err error) {
	c, err := e.clientFor(ctx, func(c *client.Client) (err error) {
		list, err = namedAgents(ctx, c.Agents, args, all)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return c.Agents, list, nil
}

// forAgents runs one thing for each agent that the arguments name.
func (e *env) forAgents(ctx context.Context, agents *client.Agents, args []string, all bool, do func(fika.Agent) error) error {
	list, err := namedAgents(ctx, agents, args, all)
	if err != nil {
		return err
	}
	return e.eachAgent(ctx, list, do)
}

// eachAgent runs one thing for each agent, and fails with the worst when one
// failed.
func (e *env) eachAgent(ctx context.Context, list []fika.Agent, do func(fika.Agent) error) error {
	var errs []error
	for _, row := range list {
		if err := do(row); err != nil {
			if len(list) == 1 || ctx.Err() != nil {
				return err
			}
			e.say("%s @%s: %s", e.ErrStyle().Red("✗"), row.Name, term.CleanLine(err.Error()))
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return silent{kind: fika.KindOf(errs[0])}
	}
	return nil
}

func newAgentHealth(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "health", Short: "say which agents need attention, and why",
		Long: `Says for each agent whether it is well: its process, what it is doing and for
how long, and whether its last request failed (an unreachable model, a wrong
key). Exit status 1 when one needs attention, or the hub does not answer.`,
		Example: "  fika agent health", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			views, err := c.Agents.List(cmd.Context(), false)
			if err != nil {
				return err
			}
			if asJSON {
				err = printLines(e, views, toAgentJSON)
			} else {
				err = e.Table([]string{"AGENT", "STATUS", "SEEN", "HEALTH"}, rows(views, func(v client.AgentView) []string { return healthRow(v, e.now()) }))
				e.say("%s", client.Summary(views))
			}
			if why := c.Trouble(); err == nil && why != "" {
				e.warn(why)
				err = silent{kind: fika.Failed}
			}
			for _, w := range e.open().DamageWarnings() {
				if e.warn(w); err == nil {
					err = silent{kind: fika.Failed}
				}
			}
			for _, v := range views {
				if err == nil && v.Trouble != "" {
					err = silent{kind: fika.Failed}
				}
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

func healthRow(v client.AgentView, now time.Time) []string {
	health := "ok"
	if v.Trouble != "" {
		health = v.Trouble
	} else if v.Why != "" {
		health = "ok, " + v.Why
	}
	return []string{string(v.Row.Name), string(v.Status), term.Ago(v.Row.SeenAt, now), term.CleanLine(health)}
}
