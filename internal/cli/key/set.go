package key

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
)

func newSet(e *command.Env) *cobra.Command {
	var hosts []string
	c := &cobra.Command{
		Use: "set NAME", Short: "store a key, read from stdin",
		Long: `Reads a key from stdin and stores it under the name of the variable that a model
names in api_key_env. On a terminal your typing is not shown. The key is stored
for the hosts of the models that name it, or else for that of its first use;
--host names others.`,
		Example: "  fika key set OPENAI_API_KEY\n  pass show openai | fika key set OPENAI_API_KEY",
		Args:    command.Exactly(1, "the name of a variable"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name := args[0]; strings.Contains(name, "=") {
				return command.UsageError("the key is read from stdin, not from the command line, where others can see it: fika key set NAME")
			}
			value, err := readKey(e, args[0])
			if err != nil {
				return err
			}
			bound, err := e.App().SetKey(cmd.Context(), args[0], value, hosts)
			if err != nil {
				return err
			}
			where := "the host of its first use"
			if len(bound) > 0 {
				where = strings.Join(bound, ", ")
			}
			e.Say("stored %s for %s", args[0], where)
			if e.Getenv(args[0]) != "" {
				e.Warn("the environment of this shell has " + args[0] + " too, and that wins")
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&hosts, "host", nil, "host that the key is for (for several, repeat or separate by commas)")
	return c
}

// readKey reads a key: a line from a terminal, without echo, or else the first 64 KiB
// of stdin.
func readKey(e *command.Env, name string) (string, error) {
	if e.InTTY {
		e.Say("the key for %s (what you type is not shown):", name)
		line, err := e.ReadSecret(e.Keyboard)
		if errors.Is(err, context.Canceled) {
			return "", fika.Errorf(fika.Interrupted, "", "no key was stored")
		}
		return strings.TrimSpace(line), fika.Wrap(fika.Failed, "read key", err)
	}
	data, err := io.ReadAll(io.LimitReader(e.In, 64<<10))
	return strings.TrimSpace(string(data)), fika.Wrap(fika.Failed, "read key", err)
}
