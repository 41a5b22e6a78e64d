package model

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/llm/catalog"
	"fika/internal/settings/config"
)

func newUpdate(e *command.Env) *cobra.Command {
	var file string
	var shipped, asJSON bool
	c := &cobra.Command{
		Use: "update", Short: "replace the table of what is known of models",
		Long: `Replaces the table of context windows, output limits and prices by a file of the
same form, as a whole, and says what has changed. fika model show names the source
of what is known of a model, and the day on which that was read. The file is
checked first: a mistake in it changes nothing. [[models]] entries go before it.`,
		Example: "  fika model update --file models.toml\n  fika model update --shipped",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if (file == "") != shipped {
				return command.UsageError("model update takes either --file or --shipped; see fika model update --help")
			}
			if file != "" && !filepath.IsAbs(file) {
				file = filepath.Join(e.App().Dir(), file)
			}
			_, layers, err := e.App().SettingLayers()
			if err != nil {
				return err
			}
			done, err := layers.ReplaceKnownModels(file)
			if err != nil {
				return err
			}
			return printUpdate(e, done, asJSON)
		},
	}
	c.Flags().StringVar(&file, "file", "", "file with the new table")
	_ = c.RegisterFlagCompletionFunc("file", complete.FileNames)
	c.Flags().BoolVar(&shipped, "shipped", false, "use the table that fika comes with again")
	command.JSONFlag(c, &asJSON)
	return c
}

type updateJSON struct {
	File    string   `json:"file"` // that holds the table; it does not exist with the one that fika comes with
	Changed bool     `json:"changed"`
	Models  int      `json:"models"`
	Read    *string  `json:"read"` // the newest day on which an entry was read
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Differs []string `json:"differs"` // in a window, limit, price or source
}

func printUpdate(e *command.Env, done config.KnownUpdate, asJSON bool) error {
	d := catalog.Compare(done.Was, done.Now)
	if asJSON {
		return e.PrintJSON(updateJSON{
			File: done.Path, Changed: done.Changed, Models: done.Now.Len(), Read: command.Optional(done.Now.Newest()), Added: d.Added, Removed: d.Removed, Differs: d.Differs,
		})
	}
	for _, part := range []struct {
		mark string
		ids  []string
	}{{"+", d.Added}, {"-", d.Removed}, {"~", d.Differs}} {
		for _, id := range part.ids {
			m, _ := done.Now.Find(id)
			text := part.mark + " " + id
			if m.Source != "" {
				text += "  " + m.Source + ", " + m.Read
			}
			if err := e.Println(text); err != nil {
				return err
			}
		}
	}
	if !done.Changed {
		e.Say("the table is unchanged: %s, the newest of %s", command.Plural(done.Now.Len(), "model"), done.Now.Newest())
		return nil
	}
	e.Say("the table now has %s, the newest of %s: %d added, %d removed, %d changed", command.Plural(done.Now.Len(), "model"), done.Now.Newest(), len(d.Added), len(d.Removed), len(d.Differs))
	return nil
}
