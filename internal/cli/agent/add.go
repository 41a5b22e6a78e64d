package agent

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/worker"
)

func newAdd(e *command.Env) *cobra.Command {
	var called string
	c := &cobra.Command{
		Use: "add PROGRAM [ARGUMENT…]", Short: "add another agent program as an agent",
		Long: `Makes an agent whose turns another agent program does, over the Agent Client
Protocol: claude, codex, opencode and gemini are known by name, any other is
given by its command. It answers mentions, takes tasks, and asks you before it
does what it asks its own person about.

The program works in the sandbox of its agent, with a home of its own in
guests/NAME of fika's home: it has neither your login nor your settings. Log in
there, or give the agent's file an API key: env: {ANTHROPIC_API_KEY: …}.`,
		Example: "  fika agent add claude\n  fika agent add opencode --name otto\n  fika agent add --name helper my-agent",
		Args:    command.AtLeastOne("a program: claude, codex, opencode, gemini, or a command"), ValidArgsFunction: complete.FirstOnly(cobra.FixedCompletions(setup.KnownGuests(), cobra.ShellCompDirectiveNoFileComp)),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := setup.GuestOf(args, called, e.App().Getenv("PATH"))
			if err != nil {
				return err
			}
			if err := writeAgent(e, g); err != nil {
				return err
			}
			return tryGuest(cmd.Context(), e, g.Name, args[0])
		},
	}
	c.Flags().StringVar(&called, "name", "", "name of the agent here")
	return c
}

// tryGuest opens a session with the program of a new agent, and tells what it says of
// itself. program is what the person called it.
func tryGuest(ctx context.Context, e *command.Env, name fika.AgentName, program string) error {
	e.App().FollowConfig(e.Warn) // its file is new
	about, err := worker.TryGuest(ctx, e.App(), name)
	if err != nil {
		e.Warn("it does not open a session yet: " + err.Error())
		if help := setup.GuestHelp(about.Command, about.Home, e.App().Getenv("PATH"), err); help != "" {
			e.Say("%s", help)
		}
		e.Say("its home is %s: log in there, or set a key in its env; fika agent show %s has its file", about.Home, name)
		return nil
	}
	e.Say("%s answers: %s", about.Program, about.Sessions)
	if login := setup.GuestLogin(program, about.Home); login != "" {
		e.Say("log in once, with its own home, unless you have: %s", login)
	}
	e.Say("try it: fika ask %s \"what can you do?\"", name)
	return nil
}
