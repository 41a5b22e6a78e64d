package doctor

import (
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/doctor"
	"fika/internal/cli/command"
	"fika/internal/system/term"
)

// New returns the command fika doctor.
func New(e *command.Env) *cobra.Command {
	var asJSON, fix bool
	c := &cobra.Command{
		Use: "doctor", Short: "check this home for problems", Args: command.Exactly(0, "no arguments"),
		Long: `Checks permissions, configuration, database, contexts, locks, plugins, other
agent programs and the disk. --fix repairs what can be repaired without losing anything, and records
that you know of lost requests from other programs. The exit status is 1 if
something is wrong.`,
		Example: "  fika doctor\n  fika doctor --fix",
		RunE: func(cmd *cobra.Command, _ []string) error {
			who, err := e.Principal()
			if err != nil {
				return err
			}
			found, err := doctor.Examine(cmd.Context(), e.App(), who, fix)
			if err != nil {
				return err
			}
			if asJSON {
				err = command.PrintLines(e, found, func(f doctor.Finding) findingJSON {
					return findingJSON{f.Check, f.Level, f.Text, command.Nullable(f.Fix)}
				})
			} else {
				err = showFindings(e, found)
			}
			if err != nil {
				return err
			}
			for _, f := range found {
				if f.Level == doctor.Problem {
					return command.Silent{Kind: fika.Failed}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	c.Flags().BoolVar(&fix, "fix", false, "repair what can be repaired")
	return c
}

// findingJSON is a finding as --json prints it.
type findingJSON struct {
	Check string           `json:"check"`
	Level doctor.Level     `json:"level"`
	Text  string           `json:"text"`
	Fix   command.Nullable `json:"fix"`
}

func showFindings(e *command.Env, found []doctor.Finding) error {
	s := e.OutStyle()
	marks := map[doctor.Level]string{
		doctor.Fine: s.Green("ok     "), doctor.Note: s.Yellow("note   "), doctor.Problem: s.Red("problem"), doctor.Fixed: s.Green("fixed  "),
	}
	below := strings.NewReplacer("\n", "\n         ") // aligns further lines with the text beside the mark
	for _, f := range found {
		if err := e.Printf("%s  %s: %s\n", marks[f.Level], term.CleanLine(f.Check), below.Replace(term.Clean(f.Text))); err != nil {
			return err
		}
		if f.Fix != "" && f.Level != doctor.Fixed {
			if err := e.Printf("         → %s\n", term.CleanLine(f.Fix)); err != nil {
				return err
			}
		}
	}
	return nil
}
