package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/plugin"
	"fika/internal/plugin/admin"
	"fika/internal/term"
)

func newPlugin(e *env) *cobra.Command {
	return group("plugin", "list, check, call and install plugins",
		"A plugin is an executable in the plugins folder that gives agents tools, or\nlistens to hooks. It runs with your rights: install only what you trust.",
		"  fika plugin list\n  fika plugin install coffee-table\n  fika plugin check ./mine",
		newPluginList(e), newPluginCheck(e), newPluginCall(e), newPluginInstall(e), newPluginRemove(e),
		newPluginSwitch(e, "enable", "use a plugin again", true), newPluginSwitch(e, "disable", "turn a plugin off without removing it", false))
}

type pluginJSON struct {
	Name    string   `json:"name"`
	Path    *string  `json:"path"`
	Enabled bool     `json:"enabled"`
	Shipped bool     `json:"shipped"`
	Tools   []string `json:"tools"`
	Hooks   []string `json:"hooks"`
	Block   bool     `json:"block"` // refuses when its hooks fail
	Env     []string `json:"env"`
	Missing []string `json:"missing_env"`
	Trouble *string  `json:"trouble"`
}

func toPluginJSON(s admin.State) pluginJSON {
	j := pluginJSON{
		Name: s.Name, Path: optional(s.Path), Enabled: s.Enabled, Shipped: s.Shipped, Tools: append([]string{}, s.Tools...), Hooks: []string{},
		Block: s.Block, Env: s.Env, Missing: s.Missing, Trouble: optional(s.Trouble),
	}
	for _, h := range s.Hooks {
		j.Hooks = append(j.Hooks, string(h))
	}
	return j
}

func newPluginList(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list the installed plugins", Example: "  fika plugin list --json", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := admin.List(cmd.Context(), e.open())
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, list, toPluginJSON)
			}
			if len(list) == 0 {
				e.say("no plugins are installed; fika brings along: %s (fika plugin install NAME)", strings.Join(plugin.Shipped(), ", "))
			}
			return e.Table([]string{"PLUGIN", "STATE", "TOOLS", "HOOKS"}, rows(list, func(s admin.State) []string {
				j := toPluginJSON(s)
				return []string{term.CleanLine(s.Name), pluginStateOf(s), term.CleanLine(strings.Join(j.Tools, " ")), strings.Join(j.Hooks, " ")}
			}))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

func pluginStateOf(s admin.State) string {
	switch {
	case s.Trouble != "":
		return term.CleanLine(s.Trouble)
	case !s.Enabled:
		return "disabled"
	case len(s.Missing) > 0:
		return "wants " + term.CleanLine(strings.Join(s.Missing, " "))
	}
	return "ok"
}

func newPluginCheck(e *env) *cobra.Command {
	var call, args string
	var asJSON bool
	c := &cobra.Command{
		Use: "check FILE", Short: "look whether a file is a plugin",
		Long:    "Asks a plugin for its schema and says what is wrong with it. FILE is a path, or\nthe name of an installed plugin. With --args one of its tools is called as well.",
		Example: "  fika plugin check ./weather\n  fika plugin check ./weather --args '{\"city\":\"Oslo\"}'",
		Args:    exactly(1, "a file, or the name of a plugin"), ValidArgsFunction: first(names{e}.installedOrFiles),
		RunE: func(cmd *cobra.Command, words []string) error {
			var trial *plugin.Trial
			if args != "" || call != "" {
				trial = &plugin.Trial{Tool: call, Args: json.RawMessage(orEmptyObject(args))}
			}
			r, err := admin.Check(cmd.Context(), e.open(), words[0], trial, e.person())
			if err != nil {
				return err
			}
			if asJSON {
				return e.printJSON(toCheckJSON(r))
			}
			return e.showCheck(r)
		},
	}
	c.Flags().StringVar(&call, "tool", "", "tool to call, when it has several")
	_ = c.RegisterFlagCompletionFunc("tool", names{e}.tools)
	c.Flags().StringVar(&args, "args", "", "arguments of a trial call, a JSON object")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
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
		pluginJSON: toPluginJSON(admin.State{Info: r.Info, Enabled: true}), Notes: append([]string{}, r.Notes...),
		SchemaTook: r.SchemaTook.Milliseconds(),
	}
	if r.Result != nil {
		j.Result, j.IsError, j.CallTook = &r.Result.Text, r.Result.IsError, r.CallTook.Milliseconds()
	}
	return j
}

func (e *env) showCheck(r plugin.Report) error {
	j := toCheckJSON(r)
	e.say("%s is a plugin (its schema took %s)", r.Name, term.Duration(r.SchemaTook))
	for _, line := range [][2]string{{"tools", strings.Join(j.Tools, ", ")}, {"hooks", strings.Join(j.Hooks, ", ")}, {"wants", strings.Join(r.Env, ", ")}} {
		if line[1] != "" {
			e.say("  %-6s %s", line[0], line[1])
		}
	}
	for _, n := range r.Notes {
		e.warn(n)
	}
	if r.Result == nil {
		return nil
	}
	return e.showResult(r.Result.Text, r.Result.IsError)
}

// showResult prints what a tool gave; an error of it is a failure.
func (e *env) showResult(text string, isError bool) error {
	if isError {
		return fika.Errorf(fika.Failed, "", "the call failed: %s", text)
	}
	return e.printText(term.Clean(text))
}

func newPluginCall(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "call TOOL [JSON]", Short: "call a tool of a plugin, as a model would",
		Example:           "  fika plugin call recurse '{\"note\":\"once more\"}'",
		ValidArgsFunction: first(names{e}.tools),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return exactly(2, "the name of a tool and its arguments as JSON")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			raw := "{}"
			if len(args) == 2 {
				raw = args[1]
			}
			r, err := admin.CallTool(cmd.Context(), e.open(), args[0], json.RawMessage(raw), e.person())
			if err != nil {
				return err
			}
			return e.showResult(r.Text, r.IsError)
		},
	}
}

func newPluginInstall(e *env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "install NAME", Short: "install a plugin",
		Long: `Installs a plugin that fika brings along, or a file or folder of your own after
checking it. A plugin gets none of your environment but the usual names; when it asks for
more you are asked, and what you allow is written to config.toml. It brings:
` + strings.Join(plugin.Shipped(), ", ") + ".",
		Example:           "  fika plugin install coffee-table\n  fika plugin install ./mine --yes",
		Args:              exactly(1, "the name of a plugin, or a file or folder"),
		ValidArgsFunction: first(names{e}.shipped),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := admin.Install(cmd.Context(), e.open(), args[0], e.person())
			if err != nil {
				return err
			}
			e.say("installed %s: %s", r.Name, r.Path)
			for _, n := range r.Notes {
				e.warn(n)
			}
			if err := e.sayWhoGets(r.Tools); err != nil {
				return err
			}
			shipped := slices.Contains(plugin.Shipped(), args[0]) // what it asks for was looked at here
			return e.grant(r, yes || shipped)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "give it what it asks for: environment variables, the use of fika")
	return c
}

// sayWhoGets tells which contexts may use the tools of a new plugin.
func (e *env) sayWhoGets(tools []string) error {
	for _, name := range tools {
		lacking, err := admin.WithoutTool(e.open(), name)
		if err != nil {
			return err
		}
		if len(lacking) == 0 {
			e.say("  tool %s: every agent and context may use it", term.CleanLine(name))
			continue
		}
		e.say("  tool %s: every agent and context may use it, except those whose tool_permissions or tools_off leave it out: %s", term.CleanLine(name), strings.Join(lacking, ", "))
	}
	return nil
}

// grant asks whether a plugin may have what it wants: variables, and the use of
// fika itself. Nobody there, or no clear yes, means no.
func (e *env) grant(r plugin.Report, yes bool) error {
	if len(r.Env) == 0 && !r.Home {
		return nil
	}
	names, keys := term.CleanLine(strings.Join(r.Env, ", ")), "env = [...]"
	if slices.Contains(r.Env, plugin.ModelKeys) {
		names += " (" + plugin.ModelKeys + ": the variables with the keys of your models)"
	}
	switch {
	case r.Home && names == "":
		names, keys = "the use of fika itself, with all rights of yours", "access = \"home\""
	case r.Home:
		names, keys = names+" and the use of fika itself, with all rights of yours", keys+", access = \"home\""
	}
	if !yes && e.InTTY {
		fmt.Fprintf(e.Err, "%s asks for %s. Give it that? [y/N] ", term.CleanLine(r.Name), names)
		answer, _ := bufio.NewReader(e.In).ReadString('\n')
		answer = strings.ToLower(strings.TrimSpace(answer))
		yes = answer == "y" || answer == "yes"
	}
	if !yes {
		e.say("it does not get %s; to give them: [plugins.%s] %s in config.toml, or install it again with --yes", names, r.Name, keys)
		return nil
	}
	if err := admin.Grant(e.open(), r.Name, r.Env, r.Home); err != nil {
		return err
	}
	e.say("%s gets %s", r.Name, names)
	return nil
}

func newPluginRemove(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "remove a plugin", Long: "Removes a plugin. What it made (contexts, files) stays.",
		Example: "  fika plugin remove coffee-table", Args: exactly(1, "the name of a plugin"), ValidArgsFunction: first(names{e}.installed),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := admin.Remove(e.open(), args[0]); err != nil {
				return err
			}
			e.say("removed %s", args[0])
			return nil
		},
	}
}

func newPluginSwitch(e *env, verb, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Example: "  fika plugin " + verb + " coffee-table", Args: exactly(1, "the name of a plugin"), ValidArgsFunction: first(names{e}.installed),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := admin.SetEnabled(e.open(), args[0], on); err != nil {
				return err
			}
			e.say("%sd %s", verb, args[0])
			return nil
		},
	}
}

// names completes the names of plugins.
type names struct{ *env }

// list gives the plugins, none when they cannot be read.
func (e names) list(cmd *cobra.Command) []admin.State {
	list, err := admin.List(cmd.Context(), e.open())
	if err != nil {
		return nil
	}
	return list
}

func (e names) installed(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, p := range e.list(cmd) {
		out = append(out, offered(p.Name, strings.Join(p.Tools, " ")))
	}
	return out, nothing
}

func (e names) installedOrFiles(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, _ := e.installed(cmd, args, word)
	return out, cobra.ShellCompDirectiveDefault
}

func (e names) shipped(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return plugin.Shipped(), cobra.ShellCompDirectiveDefault // or a file
}

func (e names) tools(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, p := range e.list(cmd) {
		for _, t := range p.Tools {
			out = append(out, offered(t, p.Name))
		}
	}
	return out, nothing
}
