package plugin

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"fika/internal/admin/pluginadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newCall(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "call TOOL [JSON]", Short: "call a tool of a plugin, as a model would",
		Example:           "  fika plugin call recurse '{\"note\":\"once more\"}'",
		ValidArgsFunction: complete.FirstOnly(names{e}.tools),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return command.Exactly(2, "the name of a tool and its arguments as JSON")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			raw := "{}"
			if len(args) == 2 {
				raw = args[1]
			}
			r, err := pluginadmin.CallTool(cmd.Context(), e.App(), args[0], json.RawMessage(raw), e.Person())
			if err != nil {
				return err
			}
			return showResult(e, r.Text, r.IsError)
		},
	}
}
