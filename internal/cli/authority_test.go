package cli_test

import (
	"testing"

	"github.com/spf13/cobra"

	"fika/internal/cli"
)

// TestD2EveryCommandSaysWhatItIs: a command that is not declared would be
// refused inside tools without anybody having thought of it, and one that
// checks nothing before it runs would be let through.
func TestD2EveryCommandSaysWhatItIs(t *testing.T) {
	declared := cli.Declared()
	root := cli.CommandTree()
	root.InitDefaultHelpCmd()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		path := c.CommandPath()
		if declared[path] == "" {
			t.Errorf("%s is not declared in table.go: say which verb it is", path)
		}
		delete(declared, path)
		if c != root && (c.PersistentPreRun != nil || c.PersistentPreRunE != nil) {
			t.Errorf("%s replaces the check of who asks: use PreRunE", path)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	delete(declared, "fika __complete")
	delete(declared, "fika __completeNoDesc")
	for path := range declared {
		t.Errorf("%s is declared, and no command", path)
	}
}
