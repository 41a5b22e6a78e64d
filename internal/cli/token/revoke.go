package token

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newRevoke(e *command.Env) *cobra.Command {
	return command.AcceptYes(&cobra.Command{
		Use: "revoke NAME", Short: "make a token void, at once",
		Long:    "Removes a token. Its program gets in by no door any more, and streams that it\nhas open end. What it has asked for continues: fika request cancel ends that.",
		Example: "  fika web token revoke prometheus", Args: command.Exactly(1, "the name of a token"), ValidArgsFunction: offerNames(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.Tokens().Revoke(cmd.Context(), args[0]); err != nil {
				return err
			}
			e.Say("%s revoked", args[0])
			return nil
		},
	})
}
