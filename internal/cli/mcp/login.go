package mcp

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/extension/oauth"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newLogin(e *command.Env) *cobra.Command {
	var noBrowser bool
	var scopes []string
	var port int
	c := &cobra.Command{
		Use: "login NAME", Short: "log in to a remote server, in your browser",
		Long: `Asks a server with a url where to log in, and opens that address in your
browser, or prints it. The browser comes back to an address of this machine; if
it runs on another machine, paste the address that it ended at.

The tokens are kept with the API keys, are sent to this server only, and are
renewed by themselves until the server ends the login. For a server that does
not let fika register itself, set client_id in its [[mcp]] entry.`,
		Example: "  fika mcp login linear\n  fika mcp login linear --no-browser",
		Args:    command.Exactly(1, "the name of a server"), ValidArgsFunction: complete.FirstOnly(names(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := oauth.Prompt{
				Show:   func(address string) error { return showLogin(e, address, noBrowser) },
				Reject: func(why error) { e.Say("that was not it: %v", why) },
			}
			if e.InTTY {
				p.Paste = func(ctx context.Context) io.Reader { return term.ReadUntil(ctx, e.In) }
			}
			return with(e, func(s *mcpadmin.Servers) error {
				r, err := s.LogIn(cmd.Context(), args[0], scopes, port, p)
				if err != nil {
					return err
				}
				e.Say("logged in to %s", args[0])
				if len(r.Changes) > 0 {
					e.Warn("it says something else than what you agreed to: fika mcp check " + args[0])
				}
				state, err := s.Find(args[0])
				if err != nil {
					return err
				}
				return e.Print(describe(state, e.Now()))
			})
		},
	}
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "only print the address")
	c.Flags().StringSliceVar(&scopes, "scope", nil, "also ask for this right (for several, repeat or separate by commas)")
	c.Flags().IntVar(&port, "port", 0, "port of this machine to which the browser returns, if the server expects one")
	return c
}

// showLogin shows a person where to log in.
func showLogin(e *command.Env, address string, noBrowser bool) error {
	e.Say("log in here:")
	if err := e.Println(term.CleanLine(address)); err != nil {
		return err
	}
	if !noBrowser && e.OutTTY && service.OpenBrowser(address, e.Getenv) {
		e.Say("your browser opens it")
	}
	if e.InTTY {
		e.Say("waiting for the browser; if it runs on another machine, paste the address that it ended at (ctrl-C gives up)")
	}
	return nil
}

func newLogout(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "forget the login to a remote server",
		Long:    "Forgets the tokens of a login. The server is not notified: its own pages end a login\nthere, too.",
		Example: "  fika mcp logout linear",
		Args:    command.Exactly(1, "the name of a server"), ValidArgsFunction: complete.FirstOnly(names(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(e, func(s *mcpadmin.Servers) error {
				if err := s.LogOut(cmd.Context(), args[0]); err != nil {
					return err
				}
				e.Say("logged out of %s", args[0])
				return nil
			})
		},
	}
}
