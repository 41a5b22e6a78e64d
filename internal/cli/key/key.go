package key

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New returns the command fika key.
func New(e *command.Env) *cobra.Command {
	return command.Group("key", "store API keys for models", `Stores API keys in the home, in a file that only you can read. An agent gets a
key if its model names it (api_key_env); the key is sent only to the hosts it is
stored for. A variable of the same name in the environment wins. Running agents
use a new key from their next turn.`,
		"  fika key set ANTHROPIC_API_KEY < key.txt\n  fika key list", newSet(e), newList(e), newShow(e), newRemove(e))
}
