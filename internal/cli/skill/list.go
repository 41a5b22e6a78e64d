package skill

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/system/term"
)

type skillJSON struct {
	Name        string           `json:"name"`
	Description *string          `json:"description"`
	State       setup.SkillState `json:"state"`
	Why         *string          `json:"why"` // it is not usable
	Folder      string           `json:"folder"`
	Place       string           `json:"place"` // the folder of skills that it was found in
	Agents      []string         `json:"agents"`
	Notes       []problemJSON    `json:"notes"` // deviations from the format
}

func toJSON(s setup.KnownSkill) skillJSON {
	j := skillJSON{
		Name: s.Name, Description: command.Optional(s.Description), State: s.State, Why: command.Optional(s.Why),
		Folder: s.Dir, Place: s.Place, Agents: s.Agents, Notes: []problemJSON{},
	}
	for _, p := range s.Notes {
		j.Notes = append(j.Notes, toProblemJSON(p))
	}
	return j
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the skills, usable or not, and who may use them", Args: command.Exactly(0, "no arguments"),
		Long: `Lists the skills of the project, of the home, and of ~/.agents/skills. Of several
with one name, the nearest counts, in this order. Those of a project count once
you have trusted them (fika trust).`,
		Example: "  fika skill list\n  fika skill list --json",
		RunE: func(*cobra.Command, []string) error {
			list, err := setup.Skills(e.App())
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, toJSON)
			}
			if len(list) == 0 {
				e.Say("no skills (fika skill add DIR)")
				return nil
			}
			return e.Table([]string{"SKILL", "STATE", "AGENTS", "IN", "ABOUT"}, command.TableRows(list, func(s setup.KnownSkill) []string {
				about := s.Description
				if s.Why != "" {
					about = s.Why
				}
				return []string{term.CleanLine(s.Name), string(s.State), command.OrDash(strings.Join(s.Agents, " ")), term.CleanLine(s.Place), term.CleanLine(about)}
			}))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
