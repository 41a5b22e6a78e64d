package setup

import (
	"fmt"
	"slices"
	"strings"
)

// grant is one tool in another program's list, as in Read or Bash(git diff:*).
type grant struct {
	name string
	only string // what the tool may be used for, as written between the brackets; empty: anything
}

func parseGrant(text string) grant {
	name, only, restricted := strings.Cut(strings.TrimSpace(text), "(")
	only = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(only), ")"))
	if restricted && only == "" {
		only = "?" // brackets that cannot be read restrict all the same
	}
	if only == "*" || only == "**" {
		only = ""
	}
	return grant{strings.TrimSpace(name), only}
}

// tools returns the tools here that correspond to the granted one; ok is false if none
// does. https://code.claude.com/docs/en/mcp names a server's tool mcp__SERVER__TOOL.
func (g grant) tools() (names []string, ok bool) {
	if server, found := strings.CutPrefix(g.name, "mcp__"); found {
		server, one, _ := strings.Cut(server, "__")
		if one == "" || one == "*" {
			return []string{"mcp:" + server}, isServerTool(server)
		}
		return []string{server + "__" + one}, isServerTool(server + one)
	}
	names, ok = toolNames()[strings.ToLower(g.name)]
	return names, ok
}

// isServerTool reports whether a text consists of what the names of MCP servers and of
// their tools are made of.
func isServerTool(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
	})
}

// rule returns the condition of a rule that fits what the grant is restricted to, as
// YAML; ok is false if no rule can say that.
// https://code.claude.com/docs/en/iam#tool-specific-permission-rules has the forms.
func (g grant) rule(tool string) (condition string, ok bool) {
	switch tool {
	case "bash":
		words := strings.TrimSuffix(g.only, ":*")
		if words != g.only {
			words += " *"
		}
		inner := strings.TrimSuffix(words, " *")
		return "match: " + quoteYAML(words), inner != "" && !strings.ContainsAny(inner, "*?|&;<>$`()")
	case "fetch":
		host, found := strings.CutPrefix(g.only, "domain:")
		return "host: " + quoteYAML(host), found
	case "read", "list", "edit", "create":
		at := g.only
		switch {
		case strings.HasPrefix(at, "//"):
			at = at[1:]
		case strings.HasPrefix(at, "/"): // of the project
			at = at[1:]
		default:
			at = strings.TrimPrefix(at, "./")
		}
		return "path: " + quoteYAML(at), at != "" && at != "?"
	}
	return "", false
}

// grants converts another program's list of tools. A tool that the list restricts is
// granted with rules: what the list names is allowed, if rules of this file may allow;
// a person is asked about everything else.
func (t *translation) grants(theirs []string) {
	var ours, restricted []string
	allowed := map[string][]string{} // by tool: conditions of what may be done without a question
	for _, text := range theirs {
		g := parseGrant(text)
		names, ok := g.tools()
		if !ok {
			t.note("tool %s is left out: nothing here is like it; if a plugin has it, add its name to tools", text)
			continue
		}
		if strings.EqualFold(g.name, "grep") {
			t.note("tool %s is list here, which finds files by name; to search in files, an agent needs bash", text)
		}
		for _, name := range names {
			if !slices.Contains(ours, name) {
				ours = append(ours, name)
				if g.only != "" {
					restricted = append(restricted, name)
				}
			}
			if g.only == "" {
				restricted = slices.DeleteFunc(restricted, func(r string) bool { return r == name })
				continue
			}
			if condition, ok := g.rule(name); ok && t.allows {
				allowed[name] = append(allowed[name], condition)
			}
		}
	}
	t.lines = append(t.lines, "tools: ["+strings.Join(ours, ", ")+"]\n")
	if len(restricted) == 0 {
		return
	}
	t.lines = append(t.lines, "rules:\n")
	for _, name := range restricted {
		for _, condition := range allowed[name] {
			t.lines = append(t.lines, fmt.Sprintf("  - {tool: %s, %s, do: allow}\n", name, condition))
		}
		t.lines = append(t.lines, fmt.Sprintf("  - {tool: %s, do: ask, why: %s}\n", name, quoteYAML("its list of tools restricts "+name)))
		switch {
		case len(allowed[name]) > 0:
			t.note("%s is restricted: what the list names is allowed, a person is asked about everything else (rules)", name)
		case t.allows:
			t.note("%s is restricted in a way that no rule can say: a person is asked about every call (rules)", name)
		default:
			t.note("%s is restricted, and a project's rules cannot allow: a person is asked about every call (rules); --own keeps the restriction as it is", name)
		}
	}
}
