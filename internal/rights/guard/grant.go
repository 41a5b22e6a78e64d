package guard

import "strings"

// Grant is one tool in another program's list, as in Read or Bash(git diff:*).
type Grant struct {
	Name string
	Only string // what the tool may be used for, as written between the brackets; empty: anything
}

// ParseGrant parses one item of such a list. It accepts every text: brackets that cannot
// be read restrict to something that no rule can say.
func ParseGrant(text string) Grant {
	name, only, restricted := strings.Cut(strings.TrimSpace(text), "(")
	only = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(only), ")"))
	if restricted && only == "" {
		only = "?" // brackets that cannot be read restrict all the same
	}
	if only == "*" || only == "**" {
		only = ""
	}
	return Grant{strings.TrimSpace(name), only}
}

// Tools returns the tools here that correspond to the granted one; ok is false if none
// does. https://code.claude.com/docs/en/mcp names a server's tool mcp__SERVER__TOOL.
func (g Grant) Tools() (names []string, ok bool) {
	if server, found := strings.CutPrefix(g.Name, "mcp__"); found {
		server, one, _ := strings.Cut(server, "__")
		if one == "" || one == "*" {
			return []string{"mcp:" + server}, isServerTool(server)
		}
		return []string{server + "__" + one}, isServerTool(server + one)
	}
	names, ok = foreignTools()[strings.ToLower(g.Name)]
	return names, ok
}

// isServerTool reports whether a text consists of what the names of MCP servers and of
// their tools are made of.
func isServerTool(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
	})
}

// Rule returns a rule that allows a tool what the grant is restricted to; ok is false if
// no rule can say that.
// https://code.claude.com/docs/en/iam#tool-specific-permission-rules has the forms.
func (g Grant) Rule(tool string) (r Rule, ok bool) {
	r = Rule{Tool: tool, Do: Allow}
	switch tool {
	case "bash":
		r.Match = strings.TrimSuffix(g.Only, ":*")
		if r.Match != g.Only {
			r.Match += " *"
		}
		inner := strings.TrimSuffix(r.Match, " *")
		return r, inner != "" && !strings.ContainsAny(inner, "*?|&;<>$`()")
	case "fetch":
		r.Host, ok = strings.CutPrefix(g.Only, "domain:")
		return r, ok
	case "read", "list", "edit", "create":
		switch at := g.Only; {
		case strings.HasPrefix(at, "/"): // of the project; //x is /x of the machine
			r.Path = at[1:]
		default:
			r.Path = strings.TrimPrefix(at, "./")
		}
		return r, r.Path != "" && r.Path != "?"
	}
	return r, false
}

// foreignTools maps the names of other programs' tools to those of tools here.
func foreignTools() map[string][]string {
	return map[string][]string{
		"read": {"read"}, "readfile": {"read"}, "read_file": {"read"}, "view": {"read"}, "notebookread": {"read"}, "cat": {"read"},
		"ls": {"list"}, "list": {"list"}, "glob": {"list"}, "grep": {"list"}, "search": {"list"}, "find": {"list"}, "listdir": {"list"}, "list_directory": {"list"}, "codebase_search": {"list"},
		"edit": {"edit"}, "multiedit": {"edit"}, "patch": {"edit"}, "apply_patch": {"edit"}, "str_replace": {"edit"}, "replace": {"edit"}, "notebookedit": {"edit"},
		"write": {"create", "edit"}, "create": {"create"}, "write_file": {"create", "edit"}, "writefile": {"create", "edit"},
		"bash": {"bash"}, "shell": {"bash"}, "terminal": {"bash"}, "execute": {"bash"}, "run_shell_command": {"bash"}, "runcommands": {"bash"},
		"webfetch": {"fetch"}, "fetch": {"fetch"}, "web_fetch": {"fetch"},
		// Every agent here has its todos, and may ask others.
		"todowrite": {}, "todoread": {}, "task": {}, "agent": {},
	}
}
