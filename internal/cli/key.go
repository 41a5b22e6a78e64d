package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika/internal/api"
	"fika/internal/cli/command"
)

// keyless lists commands that have no --key although what they write repeats by a key:
// they go on with what is typed at the terminal or with a turn of their own, or write the files that a key would need first.
func keyless() []string {
	return []string{"chat join", "chat new", "run", "context prompt", "init", "trust", "config migrate", "model update", "mcp serve"}
}

// addKeys adds --key to a command of the root and those below it, if what they write
// repeats by a key or as an intent.
func addKeys(e *command.Env, c *cobra.Command, path ...string) {
	path = append(path, c.Name())
	for _, sub := range c.Commands() {
		addKeys(e, sub, path...)
	}
	d, _ := declarationOf(path)
	keyed := false
	for _, name := range []string{d.verb, d.then} {
		v, ok := api.Find(name)
		keyed = keyed || ok && (v.Repeat == api.ByKey || v.Repeat == api.Intent)
	}
	if !keyed || c.RunE == nil || slices.Contains(keyless(), strings.Join(path, " ")) {
		return
	}
	command.KeyFlag(c, e)
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		v := verbOf(cmd, args)
		byCommand := v.Repeat == api.Intent && v.Name != "agent.compact" && (v.Object() == api.AgentObject || v.Object() == api.FileObject)
		if e.Key == "" || !byCommand {
			return run(cmd, args)
		}
		return runOnce(e, cmd, args, v, run)
	}
}

// runOnce runs a command that acts on files of this home under its key: a repeat runs it
// again if it was interrupted, and only says so if it was done.
func runOnce(e *command.Env, cmd *cobra.Command, args []string, v api.Verb, run func(*cobra.Command, []string) error) error {
	s, err := e.Service(cmd.Context())
	if err != nil {
		return err
	}
	body := []any{cmd.CommandPath(), args}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "key" && f.Name != "home" {
			body = append(body, f.Name, f.Value.String())
		}
	})
	e.Key = "" // it names the command as a whole
	did, err := s.Intend(cmd.Context(), v.Name, body, func() error { return run(cmd, args) })
	if err == nil && !did {
		e.Say("it was done before, under this key")
	}
	return err
}
