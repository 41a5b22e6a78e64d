package rules

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New returns the command fika rules.
func New(e *command.Env) *cobra.Command {
	return command.Group("rules", "see what the rules say about a tool call",
		"Rules ([[rules]] in config.toml, of an agent, of its local.toml) allow tool\ncalls, ask you about them or deny them. They save you questions and stop what is\nplainly unwanted; it is the sandbox that confines commands.",
		"  fika rules test coder 'git push origin main'", newTest(e))
}
