package plugin

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/pluginadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/extension/plugin"
	"fika/internal/system/term"
)

func newCheck(e *command.Env) *cobra.Command {
	var call, args string
	var asJSON bool
	c := &cobra.Command{
		Use: "check FILE", Short: "check whether a file is a plugin",
		Long:    "Asks a plugin for its schema and reports what is wrong with it. FILE is a path,\nor the name of an installed plugin. With --args, the command also calls one of\nits tools.",
		Example: "  fika plugin check ./weather\n  fika plugin check ./weather --args '{\"city\":\"Oslo\"}'",
		Args:    command.Exactly(1, "a file, or the name of a plugin"), ValidArgsFunction: complete.FirstOnly(names{e}.installedOrFiles),
		RunE: func(cmd *cobra.Command, words []string) error {
			var trial *plugin.Trial
			if args != "" || call != "" {
				trial = &plugin.Trial{Tool: call, Args: json.RawMessage(orEmptyObject(args))}
			}
			r, err := pluginadmin.Check(cmd.Context(), e.App(), words[0], trial, e.Person())
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(toCheckJSON(r))
			}
			return showCheck(e, r)
		},
	}
	c.Flags().StringVar(&call, "tool", "", "tool to call, if the plugin has several")
	_ = c.RegisterFlagCompletionFunc("tool", names{e}.tools)
	c.Flags().StringVar(&args, "args", "", "arguments of a trial call, a JSON object")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func orEmptyObject(s string) string {
	if s == "" {
		return "{}"
	}
	return s
}

type checkJSON struct {
	pluginJSON
	Notes      []string `json:"notes"`
	SchemaTook int64    `json:"schema_ms"`
	Result     *string  `json:"result"`
	IsError    bool     `json:"is_error"`
	CallTook   int64    `json:"call_ms"`
}

func toCheckJSON(r plugin.Report) checkJSON {
	j := checkJSON{
		pluginJSON: toPluginJSON(pluginadmin.State{Info: r.Info, Enabled: true}), Notes: append([]string{}, r.Notes...),
		SchemaTook: r.SchemaTook.Milliseconds(),
	}
	if r.Result != nil {
		j.Result, j.IsError, j.CallTook = &r.Result.Text, r.Result.IsError, r.CallTook.Milliseconds()
	}
	return j
}

func showCheck(e *command.Env, r plugin.Report) error {
	j := toCheckJSON(r)
	e.Say("%s is a plugin (its schema took %s)", r.Name, term.Duration(r.SchemaTook))
	for _, line := range [][2]string{{"tools", strings.Join(j.Tools, ", ")}, {"hooks", strings.Join(j.Hooks, ", ")}, {"wants", strings.Join(r.Env, ", ")}} {
		if line[1] != "" {
			e.Say("  %-6s %s", line[0], line[1])
		}
	}
	for _, n := range r.Notes {
		e.Warn(n)
	}
	if r.Result == nil {
		return nil
	}
	return showResult(e, r.Result.Text, r.Result.IsError)
}

// showResult prints the result of a tool. It fails with Failed if isError is set.
func showResult(e *command.Env, text string, isError bool) error {
	if isError {
		return fika.Errorf(fika.Failed, "", "the call failed: %s", text)
	}
	return e.PrintText(term.Clean(text))
}
