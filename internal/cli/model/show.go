package model

import (
	"slices"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
	"fika/internal/text/hint"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show MODEL", Short: "show a model's address, key and price", Example: "  fika model show sonnet\n  fika model show sonnet --json",
		Args: command.Exactly(1, "the id or nickname of a model"), ValidArgsFunction: complete.FirstOnly(complete.ModelNames(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := e.App().Models()
			if err != nil {
				return err
			}
			i := slices.IndexFunc(list, func(m app.ModelInfo) bool { return m.ID == args[0] || m.Nickname == args[0] })
			if i < 0 {
				if err := e.App().CheckModel(args[0]); err != nil {
					return err
				}
				return fika.WithHint(fika.Errorf(fika.NotFound, "", "%s is not a model of the config, though it could be used", args[0]), hint.ModelList)
			}
			if asJSON {
				return e.PrintLine(toModelJSON(list[i]))
			}
			var facts []term.Fact
			row := modelRow(list[i])
			for at, label := range []string{"", "model", "nickname", "provider", "window", "output", "key", "price", "address"} {
				if label != "" {
					facts = append(facts, term.Fact{Label: label, Value: row[at]})
				}
			}
			if list[i].Known != "" {
				facts = append(facts, term.Fact{Label: "known from", Value: list[i].Known})
			}
			if list[i].Default {
				facts = append(facts, term.Fact{Label: "used", Value: "by the current context"})
			}
			return e.Facts(facts...)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
