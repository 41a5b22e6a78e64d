package cli

import (
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/keyfile"
)

func newKey(e *env) *cobra.Command {
	return group("key", "store API keys for models", `Stores API keys in the home, in a file that only you can read. A key is given to
agents whose model names it (api_key_env), and sent to the hosts it is stored for
alone. A variable of the same name in the environment wins. Agents that run take
a new key over at their next turn.`,
		"  fika key set ANTHROPIC_API_KEY < key.txt\n  fika key list", newKeySet(e), newKeyList(e), newKeyRemove(e))
}

func newKeySet(e *env) *cobra.Command {
	var hosts []string
	c := &cobra.Command{
		Use: "set NAME", Short: "store a key, read from stdin",
		Long: `Reads a key from stdin and stores it under the name of the variable that a model
names in api_key_env. On a terminal what is typed is not shown. It is stored for
the hosts of the models that name it, or of its first use; --host names others.`,
		Example: "  fika key set OPENAI_API_KEY\n  pass show openai | fika key set OPENAI_API_KEY",
		Args:    exactly(1, "the name of a variable"),
		RunE: func(_ *cobra.Command, args []string) error {
			if name := args[0]; strings.Contains(name, "=") {
				return usageError("the key is read from stdin, not from the command line, where others can see it: fika key set NAME")
			}
			value, err := e.readKey(args[0])
			if err != nil {
				return err
			}
			bound, err := e.open().SetKey(args[0], value, hosts)
			if err != nil {
				return err
			}
			where := "the host of its first use"
			if len(bound) > 0 {
				where = strings.Join(bound, ", ")
			}
			e.say("stored %s for %s", args[0], where)
			if e.getenv(args[0]) != "" {
				e.warn("the environment of this shell has " + args[0] + " too, and that wins")
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&hosts, "host", nil, "host it is for (several: repeat or separate by commas)")
	return c
}

// readKey reads a key: without echo from a terminal, else all of stdin.
func (e *env) readKey(name string) (string, error) {
	if e.InTTY {
		e.say("the key for %s (what you type is not shown):", name)
		line, err := e.ReadSecret()
		return strings.TrimSpace(line), fika.Wrap(fika.Failed, "read key", err)
	}
	data, err := io.ReadAll(io.LimitReader(e.In, 64<<10))
	return strings.TrimSpace(string(data)), fika.Wrap(fika.Failed, "read key", err)
}

type keyJSON struct {
	Name        string    `json:"name"`
	Hosts       []string  `json:"hosts"`
	SetAt       time.Time `json:"set_at"`
	Environment bool      `json:"environment"` // a variable of that name wins here
}

func newKeyList(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list the stored keys, without their values", Example: "  fika key list", Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			f, err := e.open().Keys()
			if err != nil {
				return err
			}
			list, err := f.List()
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, list, func(k keyfile.Key) keyJSON {
					return keyJSON{k.Name, append([]string{}, k.Hosts...), k.Set, e.getenv(k.Name) != ""}
				})
			}
			if len(list) == 0 {
				e.say("no keys are stored; fika key set NAME stores one")
				return nil
			}
			return e.Table([]string{"KEY", "FOR", "STORED", "NOTE"}, rows(list, func(k keyfile.Key) []string {
				note := ""
				if e.getenv(k.Name) != "" {
					note = "the environment of this shell has it too, and wins"
				}
				return []string{k.Name, dash(strings.Join(k.Hosts, ", ")), k.Set.Local().Format("2006-01-02 15:04"), note}
			}))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

func newKeyRemove(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "forget a stored key", Example: "  fika key remove OPENAI_API_KEY", Args: exactly(1, "the name of a key"),
		ValidArgsFunction: first(e.completeKeys),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := e.open().Keys()
			if err == nil {
				err = f.Remove(args[0])
			}
			if err == nil {
				e.say("removed %s", args[0])
			}
			return err
		},
	}
}
