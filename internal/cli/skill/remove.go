package skill

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newRemove(e *command.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "remove NAME", Short: "remove a skill from the home", Args: command.Exactly(1, "a skill"), ValidArgsFunction: complete.FirstOnly(names(e)),
		Long:    "Deletes the folder of a skill in skills/ of the home. Skills of a project, or of\n~/.agents/skills, are removed by hand.",
		Example: "  fika skill remove pdf-forms",
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := setup.SkillFolder(e.App(), args[0])
			if err != nil {
				return err
			}
			if !yes {
				if err := e.Confirm("delete " + dir); err != nil {
					return err
				}
			}
			if err := setup.RemoveSkill(dir); err != nil {
				return err
			}
			e.Say("removed %s", args[0])
			return nil
		},
	}
	command.YesFlag(c, &yes, "do not ask")
	return c
}
