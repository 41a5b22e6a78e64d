package ask

import (
	"fmt"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
)

// matchJSON is how well an agent fits, as a program reads it.
type matchJSON struct {
	Agent fika.AgentName `json:"agent"`
	Score float64        `json:"score"`
	Sure  bool           `json:"sure"`
	Why   string         `json:"why"`
}

// NewRoute makes fika route.
func NewRoute(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "route PROMPT...", Short: "show which agent a prompt is for, and why",
		Long: `Ranks the agents by how well they fit a prompt, the best first: by name,
description, capabilities and examples, a small vocabulary of everyday work, and
the tools that such work needs. No model is asked and nothing is sent, unless
[routing] model names a model: it decides when the ranking is not sure.

SURE marks the agent that fika ask auto, fika ask --new auto and @auto: in the master
use. An agent that was stopped by hand, has failed, may not be asked by you or
has reached a limit or a budget is not chosen.

` + command.ExitHelp,
		Example: "  fika agent route \"is this diff safe to merge?\"\n  fika agent route --json \"translate the manual\" | jq -r '.[0].agent'",
		Args:    func(cmd *cobra.Command, args []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := e.ReadPrompt("fika agent route", args)
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Routing.RankJudged(cmd.Context(), prompt, e.Warn)
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(command.EmptyIfNil(matchesToJSON(list)))
			}
			return showMatches(e, list)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON list")
	return c
}

func matchesToJSON(list []service.Match) []matchJSON {
	var out []matchJSON
	for _, m := range list {
		out = append(out, matchJSON{m.Agent, m.Score, m.Sure, m.Why})
	}
	return out
}

func showMatches(e *command.Env, list []service.Match) error {
	if len(list) == 0 {
		e.Say("no agents (fika init)")
		return nil
	}
	err := e.Table([]string{"AGENT", "SCORE", "SURE", "WHY"}, command.TableRows(list, func(m service.Match) []string {
		sure := ""
		if m.Sure {
			sure = "yes"
		}
		return []string{string(m.Agent), fmt.Sprintf("%.2f", m.Score), sure, m.Why}
	}))
	switch best := list[0]; {
	case err != nil:
	case best.Sure && best.Work != "":
		e.Say("this looks like %s: @%s", best.Work, best.Agent)
	case best.Sure:
		e.Say("this looks like work for @%s", best.Agent)
	case best.Score == 0 || best.Barred != "":
		e.Say("this fits no agent that can be chosen")
	default:
		e.Say("no clear match: auto would not pick @%s", best.Agent)
	}
	return err
}
