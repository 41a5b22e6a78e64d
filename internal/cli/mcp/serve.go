package mcp

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	door "fika/internal/door/mcp"
	"fika/internal/system/term"
)

func newServe(e *command.Env) *cobra.Command {
	var install string
	var write bool
	c := &cobra.Command{
		Use: "serve", Short: "offer the agents of this home to another agent program",
		Long: `Is an MCP server on stdin and stdout: Claude Code, Codex, OpenCode, Gemini CLI
and every other MCP client can give the agents of this home work, with the tools
ask, start, status, send, cancel, agents and read. The client starts this command
itself; --install prints the entry that its configuration needs, and with --write
adds it.

The program asks with your rights, under its own name. It cannot answer
approvals: it is told what you can answer, and waits. Work continues when the
program ends. Started by a command of an agent, the server speaks as that agent.`,
		Example: "  fika mcp serve --install claude\n  fika mcp serve --install codex --write",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case install != "":
				return installEntry(e, install, write)
			case write:
				return fika.Errorf(fika.Invalid, "", "--write needs --install")
			}
			return serve(cmd.Context(), e)
		},
	}
	c.Flags().StringVar(&install, "install", "", "print the entry for a program: claude, codex, opencode or gemini")
	c.Flags().BoolVar(&write, "write", false, "with --install: add the entry to the program's settings")
	_ = c.RegisterFlagCompletionFunc("install", cobra.FixedCompletions(programNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// serve answers the client until it closes stdin.
func serve(ctx context.Context, e *command.Env) error {
	d, err := e.OpenDoor(ctx, api.DoorMCP)
	if err != nil {
		return err
	}
	err = door.Serve(ctx, term.ReadUntil(ctx, e.In), e.Wire(), door.Options{
		As: func(program string) api.Service { return d.Program(ctx, program) }, Ready: d.Ready, Words: e.Words, Version: e.Version,
	})
	if ctx.Err() != nil {
		return nil // it was told to end: nothing is lost
	}
	return err
}
