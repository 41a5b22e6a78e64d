package mcp

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
)

func newImport(e *command.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "import FILE", Short: "import the servers of another program",
		Long: `Reads a file such as .mcp.json (mcpServers with command, args, env, url,
headers), opencode.json or Codex's config.toml, shows what becomes of it and what
is left out, and writes [[mcp]] entries into config.toml. Secrets are not
imported, only their names. Nothing is started.`,
		Example: "  fika mcp import .mcp.json\n  fika mcp import ~/.config/other/mcp.json --yes",
		Args:    command.Exactly(1, "a file"), ValidArgsFunction: complete.FirstOnly(complete.FileNames),
		RunE: func(_ *cobra.Command, args []string) error {
			return with(e, func(s *mcpadmin.Servers) error {
				found, err := s.Import(args[0])
				if err != nil {
					return err
				}
				for _, line := range found.Left {
					e.Warn(term.CleanLine(line))
				}
				if len(found.Entries) == 0 {
					return fika.Errorf(fika.Failed, "", "nothing of %s was taken over", args[0])
				}
				e.Say("this goes into config.toml:\n")
				for _, entry := range found.Entries {
					e.Say("%s\n", indent(term.Clean(entry.TOML())))
				}
				if !yes {
					if err := e.Confirm("add them"); err != nil {
						return err
					}
				}
				if err := s.Add(found.Entries...); err != nil {
					return err
				}
				for _, entry := range found.Entries {
					if err := e.Print(entry.Name + "\n"); err != nil {
						return err
					}
				}
				e.Say("fika mcp check starts them and shows their tools")
				return nil
			})
		},
	}
	command.YesFlag(c, &yes, "do not ask")
	return c
}
