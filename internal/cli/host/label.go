package host

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newLabel(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "label HOST LABEL...", Short: "add labels to a host, or remove them",
		Long:    "Adds labels to a host; a label with a minus behind it is removed.",
		Example: "  fika store host label box gpu big\n  fika store host label box big-",
		Args:    command.AtLeastOne("the name of a host, and labels"), ValidArgsFunction: complete.FirstOnly(offerNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return command.UsageError("name a label as well, as in fika store host label %s gpu", args[0])
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			var add, remove []string
			for _, l := range args[1:] {
				if name, gone := strings.CutSuffix(l, "-"); gone {
					remove = append(remove, name)
				} else {
					add = append(add, l)
				}
			}
			if err := c.Hosts().Label(cmd.Context(), args[0], add, remove); err != nil {
				return err
			}
			h, err := c.Hosts().Show(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			e.Say("%s: %s", h.Name, command.OrDash(strings.Join(h.Labels, " ")))
			return nil
		},
	}
}
