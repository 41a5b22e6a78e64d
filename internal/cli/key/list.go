package key

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/settings/keyfile"
)

type keyJSON struct {
	Name        string    `json:"name"`
	Hosts       []string  `json:"hosts"`
	SetAt       time.Time `json:"set_at"`
	Environment bool      `json:"environment"` // a variable of that name is set, and wins
}

func toJSON(e *command.Env, k keyfile.Key) keyJSON {
	return keyJSON{k.Name, append([]string{}, k.Hosts...), k.Set, e.Getenv(k.Name) != ""}
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the stored keys, without their values", Example: "  fika key list", Args: command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			f, err := e.App().Keys()
			if err != nil {
				return err
			}
			list, err := f.List()
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, func(k keyfile.Key) keyJSON { return toJSON(e, k) })
			}
			if len(list) == 0 {
				e.Say("no keys (fika key set NAME)")
				return nil
			}
			return e.Table([]string{"KEY", "FOR", "STORED", "NOTE"}, command.TableRows(list, func(k keyfile.Key) []string {
				note := ""
				if e.Getenv(k.Name) != "" {
					note = "the environment of this shell has it too, and wins"
				}
				return []string{k.Name, command.OrDash(strings.Join(k.Hosts, ", ")), k.Set.Local().Format("2006-01-02 15:04"), note}
			}))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
