package bus

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// New returns the command fika bus.
func New(e *command.Env) *cobra.Command {
	return command.Group("bus", "show and set which programs may ask agents over the bus",
		"A bus member is a program that may ask agents with a credential of its own and\nwith fewer rights than you have: [[bus_members]] in config.toml names it.\nPrograms that you trust like yourself need no entry (fika status --show-bus).",
		"  fika bus add build-server --tools read,list,bash --agents coder\n  fika bus show build-server\n  fika bus list", newList(e), newShow(e), newAdd(e), newRemove(e), newUsers(e))
}

// memberJSON is a member as --json prints it.
type memberJSON struct {
	Name    string   `json:"name"`
	Tools   []string `json:"tools"` // "*": all that the agent may use use use
	Network bool     `json:"network"`
	Agents  []string `json:"agents"` // null: all
}

func toMemberJSON(m service.BusMember) memberJSON {
	return memberJSON{Name: m.Name, Tools: command.EmptyIfNil(m.Tools), Network: m.Network == "on", Agents: m.Agents}
}

// row returns the table row of a member.
func row(m service.BusMember) []string {
	agents := "all"
	if m.Agents != nil {
		agents = command.OrDash(strings.Join(m.Agents, " "))
	}
	tools := command.OrDash(strings.Join(m.Tools, " "))
	if slices.Contains(m.Tools, "*") {
		tools = "all that the agent may"
	}
	return []string{m.Name, tools, m.Network, agents}
}

// names completes the names of members.
func names(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.Service(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, m := range c.BusMembers() {
			out = append(out, complete.WithAbout(m.Name, strings.Join(m.Tools, " ")))
		}
		return out, complete.NoFiles
	}
}

// completeAgents completes a comma-separated list of agents.
func completeAgents(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		list, directive := complete.AgentNames(e)(cmd, args, word[len(before):])
		for _, a := range list {
			out = append(out, before+a)
		}
		return out, directive
	}
}

// agentNames parses names of agents, with or without @.
func agentNames(given []string) ([]string, error) {
	var out []string
	for _, g := range given {
		n, err := fika.ParseAddressee(strings.TrimPrefix(strings.TrimSpace(g), "@"))
		if err != nil {
			return nil, err
		}
		out = append(out, string(n))
	}
	return out, nil
}
