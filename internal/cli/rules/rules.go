package rules

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New makes fika rules.
func New(e *command.Env) *cobra.Command {
	return command.Group("rules", "see what the rules say about a tool call",
		"Rules ([[rules]] of config.toml, of an agent, of its local.toml) allow tool calls,\nask you about them or deny them. They spare questions and stop what is plainly\nunwanted; what keeps a command in is the sandbox.",
		"  fika rules test coder 'git push origin main'", newTest(e))
}
