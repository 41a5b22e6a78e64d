package cli

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/term"
)

func newDoctor(e *env) *cobra.Command {
	var asJSON, fix bool
	c := &cobra.Command{
		Use: "doctor", Short: "look for what is wrong with this home", Args: exactly(0, "no arguments"),
		Long: `Looks at permissions, configuration, database, contexts, locks, plugins and the
disk. --fix mends what can be mended without losing anything. Exit status 1 when
something is wrong.`,
		Example: "  fika doctor\n  fika doctor --fix",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := e.open().Doctor(cmd.Context(), app.DoctorOptions{Fix: fix, Agents: e.agentHealth, BusWarnings: e.busWarnings})
			if err != nil {
				return err
			}
			if asJSON {
				err = printLines(e, found, func(f app.Finding) findingJSON {
					return findingJSON{f.Check, f.Level, f.Text, nullable(f.Fix)}
				})
			} else {
				err = e.showFindings(found)
			}
			if err != nil {
				return err
			}
			for _, f := range found {
				if f.Level == app.Trouble {
					return silent{fika.Failed}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	c.Flags().BoolVar(&fix, "fix", false, "mend what can be mended")
	return c
}

// agentHealth tells the doctor how the agents are. That the store cannot be
// opened it has found out itself.
func (e *env) agentHealth(ctx context.Context) ([]app.AgentHealth, error) {
	c, err := e.reader(ctx)
	if err != nil {
		return nil, nil
	}
	views, err := c.Agents.List(ctx, false)
	var out []app.AgentHealth
	for _, v := range views {
		out = append(out, app.AgentHealth{Name: v.Row.Name, Trouble: v.Trouble, Mere: !v.Entry && v.Row.State != fika.AgentFailed})
	}
	return out, err
}

func (e *env) busWarnings(ctx context.Context) ([]string, error) {
	c, err := e.reader(ctx)
	if err != nil {
		return nil, err
	}
	st, err := c.Status(ctx)
	return st.Warnings, err
}

// findingJSON is a finding as --json shows it.
type findingJSON struct {
	Check string    `json:"check"`
	Level app.Level `json:"level"`
	Text  string    `json:"text"`
	Fix   nullable  `json:"fix"`
}

func (e *env) showFindings(found []app.Finding) error {
	s := e.OutStyle()
	marks := map[app.Level]string{
		app.Fine: s.Green("ok     "), app.Note: s.Yellow("note   "), app.Trouble: s.Red("problem"), app.Mended: s.Green("fixed  "),
	}
	for _, f := range found {
		if err := e.printf("%s  %s: %s\n", marks[f.Level], term.CleanLine(f.Check), term.CleanLine(f.Text)); err != nil {
			return err
		}
		if f.Fix != "" && f.Level != app.Mended {
			if err := e.printf("         → %s\n", term.CleanLine(f.Fix)); err != nil {
				return err
			}
		}
	}
	return nil
}
