package request

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New returns the command fika request.
func New(e *command.Env) *cobra.Command {
	return command.Group("request", "list, show, wait for, cancel and retry requests",
		"A request is a piece of work that one agent has taken or will take. Its id may\nbe shortened to any unique beginning of at least 6 characters.", "  fika request list\n  fika request wait 01a1fd6e",
		newList(e), newShow(e), newWait(e), newCancel(e), newRetry(e))
}
