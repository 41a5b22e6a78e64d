package ask

import (
	"context"
	"strings"

	"fika"
	"fika/internal/cli/command"
	workflowcmd "fika/internal/cli/workflow"
	"fika/internal/workflow"
)

// meansTeam reports whether the argument for an agent is a team, correctly written or
// not: no agent's name has any of these characters.
func meansTeam(name string) bool { return strings.ContainsAny(name, ",>→⇒➜⟶➔@ ") }

// runTeam gives the prompt to several agents, at the same time or one after the other.
func (o *askOptions) runTeam(ctx context.Context, name, prompt string) error {
	for flag, given := range map[string]string{"--model": o.model, "--as": o.from} {
		if given != "" {
			return command.UsageError("%s is for one agent, and %s is a team", flag, name)
		}
	}
	team, err := workflow.ParseAddress(name, nil)
	if err != nil {
		return err
	}
	t := workflowcmd.TeamOptions{NoWait: o.noWait, Timeout: o.timeout, JSON: o.json, Raw: o.raw}
	l := workflow.Line{Address: team, Prompt: prompt}
	if o.combine != "" {
		if l.Combine, err = fika.ParseAgentName(strings.TrimPrefix(o.combine, "@")); err != nil {
			return err
		}
	}
	return workflowcmd.RunTeam(ctx, o.Env, l, t)
}
