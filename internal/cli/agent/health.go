package agent

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/hint"
	"fika/internal/text/words"
)

func newHealth(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "health [AGENT]", Short: "report which agents need attention, and why",
		Long: `Reports for each agent whether it is well: its process, what it is doing and for
how long, and whether its last request failed (an unreachable model, a wrong
key). The exit status is 1 if an agent needs attention or the hub does not
answer. If the tools of an agent have limits ([agents.limits]) that this machine
cannot enforce, the report says so, and why.`,
		Example: "  fika agent health\n  fika agent health coder", Args: command.AtMostOne("one agent"), ValidArgsFunction: complete.FirstOnly(complete.AgentNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			views, err := c.Agents.List(cmd.Context(), false)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if views, err = onlyAgent(views, args[0]); err != nil {
					return err
				}
			}
			if asJSON {
				err = command.PrintLines(e, views, func(v service.AgentView) JSON { return ToJSON(e.Now(), v) })
			} else {
				err = e.Table([]string{"AGENT", "STATUS", "SEEN", "HEALTH"}, command.TableRows(views, func(v service.AgentView) []string { return healthRow(v, e.Now()) }))
				e.Say("%s", service.AgentSummary(views))
			}
			if why := c.BusTrouble(); err == nil && !why.IsClear() {
				e.WarnStatus(why)
				err = command.Silent{Kind: fika.Failed}
			}
			for _, w := range e.App().DamageWarnings() {
				if e.Warn(w); err == nil {
					err = command.Silent{Kind: fika.Failed}
				}
			}
			for _, v := range views {
				if err == nil && !v.Trouble.IsClear() {
					err = command.Silent{Kind: fika.Failed}
				}
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func healthRow(v service.AgentView, now time.Time) []string {
	health := "ok"
	if !v.Trouble.IsClear() {
		health = words.Brief(v.Trouble, now)
	} else if !v.Why.IsClear() {
		health = "ok, " + words.Brief(v.Why, now)
	}
	if v.NoLimits != "" {
		health += "; " + v.NoLimits
	}
	return []string{string(v.Row.Name), v.StatusWord(), term.Ago(v.Row.SeenAt, now), term.CleanLine(health)}
}

// onlyAgent returns the agent called text alone. It fails with NotFound or Invalid.
func onlyAgent(views []service.AgentView, text string) ([]service.AgentView, error) {
	name, err := fika.ParseAgentName(strings.TrimPrefix(text, "@"))
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		if v.Row.Name == name {
			return []service.AgentView{v}, nil
		}
	}
	return nil, fika.WithHint(fika.Errorf(fika.NotFound, "", "agent %s not found", name), hint.AgentList)
}
