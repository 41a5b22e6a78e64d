package mcp

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newCheck(e *command.Env) *cobra.Command {
	var yes, asJSON bool
	c := &cobra.Command{
		Use: "check [NAME...]", Short: "ask servers for their tools, and agree to changes",
		Long: `Starts or contacts servers, all of them unless some are named, and asks for
their tools. Agents are told what a server said first. fika shows later changes,
which take effect only when you agree; until then a changed tool is not called.`,
		Example:           "  fika mcp check\n  fika mcp check files --yes",
		ValidArgsFunction: complete.AnyNumber(names(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(e, func(s *mcpadmin.Servers) error {
				if len(args) == 0 {
					for _, one := range s.List() {
						if !one.Entry.Disabled {
							args = append(args, one.Entry.Name)
						}
					}
				}
				if len(args) == 0 {
					e.Say("no MCP servers (fika mcp install NAME COMMAND)")
				}
				var failed []error
				for _, name := range args {
					if err := checkOne(cmd.Context(), e, s, name, yes, asJSON); err != nil {
						failed = append(failed, err)
					}
				}
				if len(failed) == 1 {
					return failed[0]
				}
				return errors.Join(failed...)
			})
		},
	}
	command.YesFlag(c, &yes, "agree to the changes")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func checkOne(ctx context.Context, e *command.Env, s *mcpadmin.Servers, name string, yes, asJSON bool) error {
	r, err := s.Check(ctx, name)
	if err != nil {
		return err
	}
	agreed := error(nil)
	if len(r.Changes) > 0 {
		e.Say("%s says something else than what you agreed to:", name)
		for _, c := range r.Changes {
			e.Say("  %s", changeLine(c))
		}
		if agreed = agree(e, name, yes); agreed == nil {
			agreed = s.Agree(r)
		}
	}
	state, err := s.Find(name)
	if err != nil {
		return err
	}
	if asJSON {
		err = e.PrintLine(toServerJSON(state))
	} else {
		err = e.Print(describe(state, e.Now()))
	}
	return errors.Join(agreed, err)
}

// agree asks the person to agree to changes, unless yes is set. Without a terminal it
// fails with Denied.
func agree(e *command.Env, name string, yes bool) error {
	switch {
	case yes:
		return nil
	case !e.InTTY:
		return fika.Errorf(fika.Denied, "", "the tools of %s have changed, and nobody has agreed: fika mcp check %s --yes agrees", name, name)
	}
	return e.Confirm("let agents use " + name + " as it is now")
}
