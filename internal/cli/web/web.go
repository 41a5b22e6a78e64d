// Package web is fika web: it logs a person's browser in to the page, and out.
//
// Read first: [New].
package web

import (
	"fmt"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
)

// New returns the command fika web.
func New(e *command.Env) *cobra.Command {
	var print bool
	c := &cobra.Command{
		Use: "web", Short: "open the page: what needs you, what everybody does, what it cost",
		Long: `Makes the hub serve its page on this machine, and prints an address that logs one
browser in. The address works once, for a minute. With a desktop, your browser
opens it; with --print it is only printed. The page shows what needs you, and
lets you answer it; see docs/guides/web.md.

The page is for persons: inside a tool of an agent this command is refused. It
is served until fika web logout --all, or always, if listen is set under [web].`,
		Example: "  fika web\n  fika web --print\n  fika web logout --all",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			who, err := e.Principal()
			if err != nil {
				return err
			}
			url, err := service.HubOf(e.App()).Page(cmd.Context(), who)
			if err != nil {
				return err
			}
			if err := e.Println(url); err != nil {
				return err
			}
			if !print && e.OutTTY && service.OpenBrowser(url, e.Getenv) {
				e.Say("your browser opens it")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&print, "print", false, "only print the address")
	c.AddCommand(newLogout(e))
	return c
}

// newLogout returns the command fika web logout.
func newLogout(e *command.Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "logout", Short: "log all browsers out of the page",
		Long: `Ends all sessions of the page at once, and makes addresses that were not used
yet void. If listen is not set under [web], the page is served no more.`,
		Example: "  fika web logout --all",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if !all {
				return command.UsageError("use --all: fika cannot know which session is this browser's")
			}
			who, err := e.Principal()
			if err != nil {
				return err
			}
			n, err := service.HubOf(e.App()).LogOut(who)
			if err != nil {
				return err
			}
			e.Say("%s logged out", fmt.Sprint(command.Plural(n, "browser")))
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every browser")
	return c
}
