package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/api"
	"fika/internal/caller"
	"fika/internal/cli/command"
	"fika/internal/cli/setup"
)

// conductOf returns what this invocation of a command does.
func conductOf(cmd *cobra.Command, args []string) conduct {
	d, ok := declarationOf(strings.Fields(cmd.CommandPath())[1:])
	if !ok || d.one && len(args) > 1 {
		return manages
	}
	out := d.conduct
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "home" || f.Name == "help":
		case d.only != "" && !slices.Contains(strings.Fields(d.only), f.Name), slices.Contains(strings.Fields(d.more), f.Name):
			out = manages
		}
	})
	return out
}

// aboutProjects names the commands that themselves tell the person what is trusted.
func aboutProjects() []string {
	return []string{"fika init", "fika trust", "fika project move", "fika project forget", "fika agent create", "fika agent import", "fika agent run"}
}

// admit refuses (Denied) a command that only a person may run if a tool runs it.
func admit(e *command.Env, cmd *cobra.Command, args []string) error {
	does := conductOf(cmd, args)
	if does == looks {
		return nil
	}
	who, err := e.Principal()
	if err != nil {
		return err
	}
	inside := who.Kind != api.Person
	if !inside && !slices.Contains(aboutProjects(), cmd.CommandPath()) {
		if alone(e, cmd, args) {
			if setup.OfferTrust(e); cmd.Context().Err() != nil {
				return fika.Errorf(fika.Interrupted, "", "nothing was done")
			}
		} else {
			setup.TellTrust(e)
		}
	}
	if !inside || does == speaks {
		return nil
	}
	return fika.Errorf(fika.Denied, "", "%s is a person's to say: inside a tool, where %s asks, only ask, task, run, chat send and commands that look work", cmd.CommandPath(), askerName(who))
}

// askerName returns the name of an agent for a message.
func askerName(who api.Principal) string {
	if who.Name == caller.Unknown {
		return who.Name
	}
	return "@" + who.Name
}
