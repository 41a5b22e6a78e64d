package plugin

import (
	"os"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/pluginadmin"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newRemove(e *command.Env) *cobra.Command {
	return command.AcceptYes(&cobra.Command{
		Use: "remove NAME", Short: "remove a plugin",
		Long:    "Removes a plugin. What it created (contexts, files) stays; so does an agent that\nwas made with it, once its file has been edited.",
		Example: "  fika plugin remove coffee-table", Args: command.Exactly(1, "the name of a plugin"), ValidArgsFunction: complete.FirstOnly(names{e}.installed),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := pluginadmin.Remove(e.App(), args[0]); err != nil {
				return err
			}
			e.Say("removed %s", args[0])
			return removeKeeper(e, fika.AgentName(args[0]))
		},
	})
}

// removeKeeper deletes the agent that was made with a plugin that comes with fika, unless
// its file has been changed since.
func removeKeeper(e *command.Env, name fika.AgentName) error {
	file, err := setup.AgentFile(e.App(), name)
	if err != nil {
		return nil // there is none
	}
	made, err := setup.AgentFrom(e.App(), name, setup.FromTemplate{})
	if err != nil {
		return nil // it did not come with the plugin
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != made.Text {
		return nil
	}
	if _, err := setup.DeleteAgent(e.App(), name); err != nil {
		return err
	}
	e.Say("deleted agent %s (%s)", name, file)
	return nil
}
