package token

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the tokens, their doors and when they were last used", Args: command.Exactly(0, "no arguments"),
		Long:    "Lists the tokens by name. A token is shadowed, and not valid, if an agent or a\nperson has its name by now.",
		Example: "  fika web token list\n  fika web token list --json | jq -r .name",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Tokens().List(cmd.Context())
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			var rows [][]string
			for _, k := range list {
				state, err := c.Tokens().State(cmd.Context(), k)
				if err != nil {
					return err
				}
				rows = append(rows, row(k, state, e.Now()))
				if !asJSON {
					continue
				}
				if err := e.PrintLine(toJSON(k, state, "")); err != nil {
					return err
				}
			}
			switch {
			case asJSON:
				return nil
			case len(list) == 0:
				e.Say("no tokens (fika web token create NAME)")
				return nil
			}
			return e.Table([]string{"TOKEN", "DOORS", "AGENTS", "STATE", "USED", "EXPIRES"}, rows)
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
