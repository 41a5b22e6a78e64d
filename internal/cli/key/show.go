package key

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/keyfile"
	"fika/internal/system/term"
	"fika/internal/text/hint"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "show what a stored key is for, without its value", Example: "  fika key show ANTHROPIC_API_KEY",
		Args: command.Exactly(1, "the name of a key"), ValidArgsFunction: complete.FirstOnly(complete.KeyNames(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := e.App().Keys()
			if err != nil {
				return err
			}
			list, err := f.List()
			if err != nil {
				return err
			}
			i := slices.IndexFunc(list, func(k keyfile.Key) bool { return k.Name == args[0] })
			if i < 0 {
				return fika.WithHint(fika.Errorf(fika.NotFound, "", "key %q not found", args[0]), hint.KeyList)
			}
			k := list[i]
			if asJSON {
				return e.PrintLine(toJSON(e, k))
			}
			note := ""
			if e.Getenv(k.Name) != "" {
				note = "the environment of this shell has it too, and wins"
			}
			return e.Facts(term.Fact{Label: "key", Value: k.Name}, term.Fact{Label: "for", Value: strings.Join(k.Hosts, ", ")},
				term.Fact{Label: "stored", Value: k.Set.Local().Format("2006-01-02 15:04")}, term.Fact{Label: "note", Value: note})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
