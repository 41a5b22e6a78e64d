package config

import (
	"errors"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/config"
	"fika/internal/system/term"
)

type shownJSON struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // as TOML
	Origin string `json:"origin"`
}

func newShow(e *command.Env) *cobra.Command {
	var context string
	var all, asJSON bool
	c := &cobra.Command{
		Use: "show", Short: "show settings, and where each comes from",
		Long: `Shows the settings of a context (the current one unless --context names another)
as TOML, with the source of each: flag, environment, file and line, or default.
--all adds the settings of the whole home. Secrets are not shown.`,
		Example: "  fika config show --context coder\n  fika config show --all", Args: command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			name, err := e.CurrentContext()
			if err != nil {
				return err
			}
			if context != "" && context != string(name) { // the current one may not have been made yet
				if name, err = fika.ParseAgentName(context); err == nil {
					err = e.App().CheckName(name)
				}
				if err != nil {
					return err
				}
			}
			settings, err := e.App().Settings(name, nil, false)
			var noModel *config.ModelError
			if errors.As(err, &noModel) { // everything else is known, and worth showing
				e.Warn(err.Error())
			} else if err != nil {
				return err
			}
			shown := settings.Show()
			if noModel == nil {
				shown = append(shown, config.Shown{Key: "api_key", Value: settings.Model.APIKeyEnv, Origin: e.App().KeyOrigin(settings.Model)})
			}
			if all {
				conf, err := e.App().Config()
				if err != nil {
					return err
				}
				shown = append(conf.Show(), shown...)
			}
			if asJSON {
				return command.PrintLines(e, shown, func(s config.Shown) shownJSON { return shownJSON(s) })
			}
			return e.Table([]string{"KEY", "VALUE", "FROM"}, command.TableRows(shown, func(s config.Shown) []string {
				return []string{s.Key, brief(term.CleanLine(s.Value)), s.Origin}
			}))
		},
	}
	c.Flags().StringVarP(&context, "context", "c", "", "the context whose settings to show")
	c.Flags().BoolVar(&all, "all", false, "also show the settings of the whole home")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	_ = c.RegisterFlagCompletionFunc("context", complete.ContextNames(e))
	return c
}

// maxValue is the number of characters of a value that a table shows.
const maxValue = 60

// brief shortens a value that would push the rest of its row out of sight, such as the
// text of a prompt; --json prints it in full.
func brief(value string) string {
	r := []rune(value)
	if len(r) <= maxValue {
		return value
	}
	return string(r[:maxValue-1]) + "…"
}
