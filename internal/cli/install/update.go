package install

import (
	"os"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/install"
	"fika/internal/cli/command"
	"fika/internal/text/hint"
)

type updateJSON struct {
	Version string `json:"version"`
	Newest  string `json:"newest"`
	Newer   *bool  `json:"newer"` // null: a version that was built by hand cannot be compared
	Source  string `json:"source"`
}

// NewUpdate returns the command fika update.
func NewUpdate(e *command.Env) *cobra.Command {
	var check, asJSON bool
	c := &cobra.Command{
		Use: "update --check", Short: "say whether there is a newer version", Args: command.Exactly(0, "no arguments"),
		Long: `Asks the address in FIKA_UPDATE_URL, else update_url of config.toml, else the one
that the install script fetched this program from, which version it has, and
prints that and the one you have. It is asked only when you run this command,
and installs nothing: to update, install again as you did the first time.

Exit status:
  0 yours is the newest   1 there is a newer one, or yours is not a release
  2 no address is set     3 the address does not say`,
		Example: "  fika update --check\n  FIKA_UPDATE_URL=https://example.com/fika fika update --check --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !check {
				return fika.WithHint(command.UsageError("fika update installs nothing; to update, install again as you did the first time"), hint.UpdateCheck)
			}
			here, source, err := sourceOfUpdates(e)
			if err != nil {
				return err
			}
			newest, err := install.Newest(cmd.Context(), source)
			if err != nil {
				return err
			}
			newer, known := install.Newer(e.Version, newest)
			if asJSON {
				out := updateJSON{Version: e.Version, Newest: newest, Source: source}
				if known {
					out.Newer = &newer
				}
				err = e.PrintLine(out)
			} else {
				err = e.Printf("%s\n", updateText(e.Version, newest, newer, known, here.Remove))
			}
			if err == nil && (newer || !known) {
				err = command.Silent{Kind: fika.Failed}
			}
			return err
		},
	}
	c.Flags().BoolVar(&check, "check", false, "look, and install nothing")
	command.JSONFlag(c, &asJSON)
	return c
}

// updateText says how two versions compare.
func updateText(version, newest string, newer, known bool, remove string) string {
	both := "installed " + version + ", newest " + newest
	switch {
	case !known:
		return both + ": cannot compare them, one was not built from a release"
	case !newer:
		return both + ": up to date"
	case remove != "":
		return both + ": update it with the package manager that installed it"
	}
	return both + ": to update, run the install script again"
}

// sourceOfUpdates returns this installation and the address to ask.
func sourceOfUpdates(e *command.Env) (install.Installed, string, error) {
	program, err := os.Executable()
	if err != nil {
		return install.Installed{}, "", fika.Wrap(fika.Failed, "update", err)
	}
	here, err := install.Find(program)
	if err != nil {
		return here, "", err
	}
	if source := e.Getenv("FIKA_UPDATE_URL"); source != "" {
		return here, source, nil
	}
	config, err := e.App().Config()
	if err != nil {
		return here, "", err
	}
	if config.UpdateURL != "" {
		return here, config.UpdateURL, nil
	}
	if here.Remove == "" && install.IsAddress(here.Source) {
		return here, here.Source, nil
	}
	return here, "", fika.Errorf(fika.Invalid, "", "no address to ask for newer versions: fika is published nowhere yet, and asks nobody by itself; set FIKA_UPDATE_URL, or update_url in config.toml")
}
