package mcp

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/extension/mcp"
)

// New returns the command fika mcp.
func New(e *command.Env) *cobra.Command {
	return command.Group("mcp", "list, check, call, install, import and log in to MCP servers",
		"An MCP server is a program or an address that provides tools for agents; [[mcp]]\nin config.toml names it. A program runs in the sandbox of the agent's commands.\nAgents call its tools SERVER__TOOL, if tool_permissions contains mcp:SERVER.",
		"  fika mcp install files npx -y @modelcontextprotocol/server-filesystem .\n  fika mcp check\n  fika mcp call files__list_directory '{\"path\":\".\"}'",
		newList(e), newShow(e), newCheck(e), newCall(e), newInstall(e), newImport(e), newRemove(e), newLogin(e), newLogout(e), newServe(e))
}

// with opens the servers for one command, calls do, and ends what do started.
func with(e *command.Env, do func(*mcpadmin.Servers) error) error {
	s, err := mcpadmin.Open(e.App())
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

// names completes the names of servers.
func names(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		_ = with(e, func(s *mcpadmin.Servers) error { // nothing is offered when they cannot be read
			for _, one := range s.List() {
				out = append(out, complete.WithAbout(one.Entry.Name, one.Line))
			}
			return nil
		})
		return out, complete.NoFiles
	}
}

// tools completes the names of tools.
func tools(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		_ = with(e, func(s *mcpadmin.Servers) error {
			for _, one := range s.List() {
				for _, t := range one.Pin.Tools {
					about, _, _ := strings.Cut(t.Description, "\n")
					out = append(out, complete.WithAbout(mcp.ToolName(one.Entry.Name, t.Name), about))
				}
			}
			return nil
		})
		return out, complete.NoFiles
	}
}
