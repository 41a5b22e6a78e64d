package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/setup"
	"fika/internal/rights/authority"
	"fika/internal/rights/caller"
)

// verbOf returns the verb that this invocation of a command is. For a command that is not
// declared it returns one that only persons may do.
func verbOf(cmd *cobra.Command, args []string) api.Verb {
	d, _ := declarationOf(strings.Fields(cmd.CommandPath())[1:])
	name := d.verb
	if d.one && len(args) > 1 {
		name = d.then
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "home" || f.Name == "help":
		case d.only != "" && !slices.Contains(strings.Fields(d.only), f.Name), slices.Contains(strings.Fields(d.more), f.Name):
			name = d.then
		}
	})
	if v, ok := api.Find(name); ok {
		return v
	}
	return api.Verb{Name: "host.undeclared", Conduct: api.Answers}
}

// aboutProjects names the commands that themselves tell the person what is trusted.
func aboutProjects() []string {
	return []string{"fika init", "fika trust", "fika project move", "fika project forget", "fika agent create", "fika agent add", "fika agent import", "fika agent run"}
}

// admit refuses (Denied) a command that its caller may not run, whatever it is about.
// What it is about is for the service to judge.
func admit(e *command.Env, cmd *cobra.Command, args []string) error {
	v := verbOf(cmd, args)
	if v.Conduct == api.Looks && !v.Whole {
		return nil
	}
	who, err := e.Principal()
	if err != nil {
		return err
	}
	if who.Kind == api.Person {
		if v.Conduct == api.Looks || slices.Contains(aboutProjects(), cmd.CommandPath()) {
			return nil
		}
		if alone(e, cmd, args) {
			if setup.OfferTrust(e); cmd.Context().Err() != nil {
				return fika.Errorf(fika.Interrupted, "", "nothing was done")
			}
		} else {
			setup.TellTrust(e)
		}
		return nil
	}
	switch authority.Check(who, v, authority.Own) {
	case authority.None:
		return nil
	case authority.PersonsOnly:
		if v.Whole {
			return fika.Errorf(fika.Denied, "", "%s shows all conversations and can only be run by a person, not by %s inside a tool", cmd.CommandPath(), askerName(who))
		}
	}
	return fika.Errorf(fika.Denied, "", "%s can only be run by a person: inside a tool, %s can only use ask, task, run, chat send and commands that read", cmd.CommandPath(), askerName(who))
}

// askerName returns the name of an agent for a message.
func askerName(who api.Principal) string {
	if who.Name == caller.Unknown {
		return who.Name
	}
	return "@" + who.Name
}
