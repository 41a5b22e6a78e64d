package mcp

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/settings/config"
	"fika/internal/settings/toml"
)

// client is a program that uses MCP servers, and where it keeps them.
type client struct {
	name  string
	file  func(home string, getenv func(string) string) string // its settings
	table string                                               // of the settings, that lists servers
	entry func(line []string) any                              // the server as it is listed
	hint  func(line []string) string                           // a command that does the same; nil: none
}

func clients() []client {
	plain := func(line []string) any { return map[string]any{"command": line[0], "args": line[1:]} }
	under := func(variable, usual string, name ...string) func(string, func(string) string) string {
		return func(home string, getenv func(string) string) string {
			dir := filepath.Join(home, usual)
			if set := getenv(variable); set != "" {
				dir = set
			}
			return filepath.Join(append([]string{dir}, name...)...)
		}
	}
	return []client{
		{name: "claude", file: under("CLAUDE_CONFIG_DIR", "", ".claude.json"), table: "mcpServers",
			entry: func(line []string) any { return map[string]any{"type": "stdio", "command": line[0], "args": line[1:]} },
			hint:  func(line []string) string { return "claude mcp add --scope user fika -- " + strings.Join(line, " ") }},
		{name: "codex", file: under("CODEX_HOME", ".codex", "config.toml"), table: "mcp_servers", entry: plain},
		{name: "opencode", file: under("XDG_CONFIG_HOME", ".config", "opencode", "opencode.json"), table: "mcp",
			entry: func(line []string) any { return map[string]any{"type": "local", "command": line, "enabled": true} }},
		{name: "gemini", file: under("", ".gemini", "settings.json"), table: "mcpServers", entry: plain},
	}
}

func programNames() (out []string) {
	for _, c := range clients() {
		out = append(out, c.name)
	}
	return out
}

// installEntry prints what the settings of a program need, or writes it.
func installEntry(e *command.Env, program string, write bool) error {
	i := slices.IndexFunc(clients(), func(c client) bool { return c.name == program })
	if i < 0 {
		return fika.Errorf(fika.Invalid, "", "%q is not a program that is known: want one of %s", program, strings.Join(programNames(), ", "))
	}
	c := clients()[i]
	line, err := e.Self("mcp", "serve")
	if err != nil {
		return err
	}
	home := e.Getenv("HOME")
	if home == "" {
		return fika.Errorf(fika.Invalid, "", "HOME is not set: where are the settings of %s?", program)
	}
	file := c.file(home, e.Getenv)
	inTOML := filepath.Ext(file) == ".toml"
	if !write {
		e.Say("this goes into %s, and --write adds it there:\n", file)
		if c.hint != nil {
			defer e.Say("\nor: %s", c.hint(line))
		}
		if inTOML {
			return e.Print(tomlEntry(c.table, line))
		}
		return e.PrintJSON(map[string]any{c.table: map[string]any{"fika": c.entry(line)}})
	}
	change := jsonEntry(file, c.table, "fika", c.entry(line))
	if inTOML {
		change = appendTOML(file, c.table, line)
	}
	changed, err := addEntry(file, change)
	switch {
	case err != nil:
		return err
	case changed:
		e.Say("added to %s; start %s again to use it", file, program)
	default:
		e.Say("%s has it already", file)
	}
	return nil
}

// tomlEntry is the table of a server.
func tomlEntry(table string, line []string) string {
	return fmt.Sprintf("[%s.fika]\ncommand = %s\nargs = [%s]\n", table, config.QuoteTOML(line[0]), quoted(line[1:]))
}

// appendTOML returns a change that adds the table of a server at the end of a file. It
// fails with Conflict if the file has another server of that name, and with Invalid if it
// cannot be read.
func appendTOML(file, table string, line []string) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		entry := []byte(tomlEntry(table, line))
		if bytes.Contains(text, entry) {
			return text, errPresent
		}
		var problems toml.Problems
		source := toml.Read(file, text, &problems)
		if err := problems.Err(); err != nil {
			return nil, err
		}
		if servers := source.Root.Get(table); servers != nil && (servers.Value.Table == nil || servers.Value.Table.Get("fika") != nil) {
			return nil, fika.Errorf(fika.Conflict, "", "%s has another %q in %s: change it by hand", file, "fika", table)
		}
		if text = bytes.TrimRight(text, "\n"); len(text) > 0 {
			text = append(text, "\n\n"...)
		}
		next := append(text, entry...)
		if toml.Read(file, next, &problems); problems.Err() != nil { // the table may be written in one line
			return nil, fika.Errorf(fika.Invalid, "", "nothing can be added at the end of %s: add the entry by hand", file)
		}
		return next, nil
	}
}
