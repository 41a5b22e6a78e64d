package request

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newList(e *command.Env) *cobra.Command {
	var agent, state string
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list requests, newest first", Example: "  fika request list --agent coder --state running", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			f := service.RequestFilter{Limit: limit}
			if agent != "" {
				row, err := c.Agents.FindKnown(ctx, agent)
				if err != nil {
					return err
				}
				f.Concerns = row.ID
			}
			if state != "" {
				if !slices.Contains(fika.RequestStates(), fika.RequestState(state)) {
					return command.UsageError("--state is one of %s, not %q", command.JoinWords(fika.RequestStates()), state)
				}
				f.States = []fika.RequestState{fika.RequestState(state)}
			}
			list, err := c.Requests.List(ctx, f)
			if err != nil {
				return err
			}
			if full := e.App().DiskWarning(); full != "" {
				e.Warn(full) // what is running may have ended, and wait to be stored
			}
			if slices.ContainsFunc(list, func(r service.RequestInfo) bool { return !r.State.Terminal() && r.Origin == fika.Queued }) {
				e.WarnWithoutHub("nothing begins by itself, and what is listed as running may have ended")
			}
			where, err := c.Hosts().Where(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintLines(e, list, func(r service.RequestInfo) placedJSON {
					return placedJSON{ToJSON(e, r), command.Optional(where[r.AgentName])}
				})
			}
			about, err := c.Requests.About(ctx, list...)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				e.Say("no requests (fika ask AGENT \"PROMPT\")")
				return nil
			}
			return e.Table(command.WithHosts(where, 3, []string{"REQUEST", "KIND", "AGENT", "STATE", "AGE", "PROMPT"}, list, workerOf, func(r service.RequestInfo) []string {
				return []string{string(r.ID), string(r.Kind), agentOf(r), string(r.State), term.Ago(r.CreatedAt, e.Now()), term.Truncate(term.CleanLine(about[r.ID]), 60)}
			}))
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only those addressed to this agent or worked on by it")
	c.Flags().StringVar(&state, "state", "", "only those in this state: "+command.JoinWords(fika.RequestStates()))
	command.LimitFlag(c, &limit, 50, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	_ = c.RegisterFlagCompletionFunc("agent", complete.AgentNames(e))
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(strings.Split(command.JoinWords(fika.RequestStates()), ", "), complete.NoFiles))
	return c
}

func workerOf(r service.RequestInfo) fika.AgentName { return r.AgentName }

// agentOf names the agent that works on a request and, if another one was asked, that
// one too.
func agentOf(r service.RequestInfo) string {
	if r.AddressedName == "" {
		return string(r.AgentName)
	}
	return string(r.AgentName) + " for " + string(r.AddressedName)
}
