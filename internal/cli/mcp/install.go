package mcp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/extension/mcp"
	"fika/internal/settings/config"
)

func newInstall(e *command.Env) *cobra.Command {
	entry := config.MCPServer{Network: "off", Taint: true}
	var yes, network bool
	c := &cobra.Command{
		Use: "install NAME [COMMAND...]", Short: "add a server, after showing what it runs",
		Long: `Shows what the server runs, starts it once to see its tools, and writes it into
config.toml as [[mcp]]. Put flags before NAME: what follows NAME is the command.
fika downloads nothing; npx and uvx do that themselves, with --network.`,
		Example: "  fika mcp install --network files npx -y @modelcontextprotocol/server-filesystem .\n  fika mcp install --url https://mcp.example.org/mcp --bearer-env EXAMPLE_TOKEN far",
		Args:    command.AtLeastOne("a name, and the command that the server is"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			entry.Name = args[0]
			if len(args) > 1 {
				entry.Command, entry.Args = args[1], args[2:]
			} else if entry.URL == "" {
				return command.UsageError("give the COMMAND that the server is, or --url")
			}
			if network {
				entry.Network = "on"
			}
			return with(e, func(s *mcpadmin.Servers) error { return install(cmd, e, s, entry, yes) })
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&entry.URL, "url", "", "address of a remote server, instead of a command")
	c.Flags().StringVar(&entry.BearerEnv, "bearer-env", "", "variable or stored key to send to the server as its token")
	c.Flags().StringVar(&entry.ClientID, "client-id", "", "as which the server knows fika, for fika mcp login")
	c.Flags().StringArrayVar(&entry.Env, "env", nil, "variable for the command: NAME, or NAME=VALUE (repeat for several)")
	c.Flags().BoolVar(&network, "network", false, "let the command reach the network")
	c.Flags().BoolVar(&entry.Trust, "trust", false, "believe what the server says about the effects of its tools")
	command.YesFlag(c, &yes, "do not ask")
	return c
}

func install(cmd *cobra.Command, e *command.Env, s *mcpadmin.Servers, entry config.MCPServer, yes bool) error {
	e.Say("this goes into config.toml:\n\n%s\n", indent(entry.TOML()))
	if runner := filepath.Base(entry.Command); slices.Contains(runners(), runner) && entry.Network != "on" {
		e.Say("%s fetches what is not installed yet, for minutes and in vain without --network (before the name)\n", runner)
	}
	if !yes {
		if err := e.Confirm("start it, to see its tools"); err != nil {
			return err
		}
	}
	r, err := s.Try(cmd.Context(), entry)
	if mcp.NeedsLogin(err) {
		return installUnseen(e, s, entry, yes)
	}
	if err != nil {
		return err
	}
	if !yes {
		for _, t := range r.Now.Tools {
			e.Say("%s", strings.TrimSuffix(describeTool(entry.Name, t), "\n"))
		}
		if err := e.Confirm("add it, with these tools"); err != nil {
			return err
		}
	}
	if err := s.Add(entry); err != nil {
		return err
	}
	if err := s.Agree(r); err != nil {
		return err
	}
	e.Reopen()
	return with(e, func(s *mcpadmin.Servers) error {
		state, err := s.Find(entry.Name)
		if err != nil {
			return err
		}
		if len(state.Agents) == 0 {
			e.Say("no agent may use it yet. For one: tool_permissions = [%s] in its [[agents]] entry; for all: at the top of config.toml", quoted(s.Permissions(entry.Name)))
		}
		return e.Print(describe(state, e.Now()))
	})
}

// runners are programs that fetch the server that they run.
func runners() []string { return []string{"npx", "bunx", "pnpx", "uvx", "pipx"} }

// installUnseen adds a server that shows its tools only to those who are logged in.
func installUnseen(e *command.Env, s *mcpadmin.Servers, entry config.MCPServer, yes bool) error {
	if !yes {
		if err := e.Confirm("add it, though it shows its tools only after a login"); err != nil {
			return err
		}
	}
	if err := s.Add(entry); err != nil {
		return err
	}
	e.Say("added %s; log in to it, which shows its tools: fika mcp login %s", entry.Name, entry.Name)
	return nil
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = config.QuoteTOML(s)
	}
	return strings.Join(out, ", ")
}
