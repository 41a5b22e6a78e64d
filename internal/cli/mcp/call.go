package mcp

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
)

func newCall(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "call TOOL [JSON]", Short: "call a tool of a server, as a model would",
		Long:              "Calls a tool, SERVER__TOOL, in the sandbox and in the folder of the current\ncontext. Progress reports of the tool go to stderr.",
		Example:           "  fika mcp call files__list_directory '{\"path\":\".\"}'",
		ValidArgsFunction: complete.FirstOnly(tools(e)),
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
			return with(e, func(s *mcpadmin.Servers) error {
				r, err := s.Call(cmd.Context(), args[0], json.RawMessage(raw), func(p []byte) { e.Say("%s", term.CleanLine(string(p))) })
				if err != nil {
					return err
				}
				if asJSON {
					return e.PrintJSON(resultJSON{r.Text, r.IsError, command.Optional(r.Tier), command.Optional(r.Taint)})
				}
				if r.IsError {
					return fika.Errorf(fika.Failed, "", "the call failed: %s", r.Text)
				}
				return e.PrintText(term.Clean(r.Text))
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

type resultJSON struct {
	Text    string  `json:"text"`
	IsError bool    `json:"is_error"`
	Sandbox *string `json:"sandbox"`
	Taint   *string `json:"taint"`
}
