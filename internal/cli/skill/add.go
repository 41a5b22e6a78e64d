package skill

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
)

func newAdd(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "add DIR", Short: "copy a skill into the home", Args: command.Exactly(1, "the folder of a skill"), ValidArgsFunction: complete.FirstOnly(complete.FileNames),
		Long: `Copies a folder with a SKILL.md into skills/ of the home, if it can be used. Only
agents whose settings name it may use it: skills = ["NAME"], or ["*"] for all.`,
		Example: "  fika skill add ./pdf-forms",
		RunE: func(_ *cobra.Command, args []string) error {
			dir := args[0]
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(e.App().Dir(), dir)
			}
			s, err := setup.AddSkill(e.App(), dir)
			if err != nil {
				return err
			}
			e.Say("added %s: %s", s.Name, s.Dir)
			for _, p := range s.Notes {
				e.Warn(p.String())
			}
			known, err := setup.FindSkill(e.App(), s.Name)
			switch {
			case err != nil:
				return err
			case known.Dir != s.Dir:
				e.Warn("not used: that of " + term.CleanLine(known.Place) + " is nearer")
			case len(known.Agents) == 0:
				e.Say("no agent may use it yet: skills = [\"%s\"] in an agent's settings allows it", s.Name)
			default:
				e.Say("these may use it: %s", strings.Join(known.Agents, ", "))
			}
			return nil
		},
	}
}
