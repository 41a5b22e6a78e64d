package command

import "github.com/spf13/cobra"

// Show makes a command without arguments that shows one thing, which find looks up, as
// a line of text or, with --json, as an object.
func Show(e *Env, use, short, example string, find func() (text string, object any, err error)) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: use, Short: short, Example: example, Args: Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			text, object, err := find()
			switch {
			case err != nil:
				return err
			case asJSON:
				return e.PrintLine(object)
			}
			return e.Println(text)
		},
	}
	JSONFlag(c, &asJSON)
	return c
}
