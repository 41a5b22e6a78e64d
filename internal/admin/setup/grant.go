package setup

import (
	"fmt"
	"slices"
	"strings"

	"fika/internal/rights/guard"
	"fika/internal/settings/front"
)

// grants converts another program's list of tools. A tool that the list restricts is
// granted with rules: what the list names is allowed, if rules of this file may allow;
// a person is asked about everything else.
func (t *translation) grants(theirs []string) {
	var ours, restricted []string
	allowed := map[string][]string{} // by tool: conditions of what may be done without a question
	for _, text := range theirs {
		g := guard.ParseGrant(text)
		names, ok := g.Tools()
		if !ok {
			t.note("tool %s is left out: nothing here is like it; if a plugin has it, add its name to tools", text)
			continue
		}
		if strings.EqualFold(g.Name, "grep") {
			t.note("tool %s is list here, which finds files by name; to search in files, an agent needs bash", text)
		}
		for _, name := range names {
			if !slices.Contains(ours, name) {
				ours = append(ours, name)
				if g.Only != "" {
					restricted = append(restricted, name)
				}
			}
			if g.Only == "" {
				restricted = slices.DeleteFunc(restricted, func(r string) bool { return r == name })
				continue
			}
			if rule, ok := g.Rule(name); ok && t.allows {
				allowed[name] = append(allowed[name], conditionOf(rule))
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
		t.lines = append(t.lines, fmt.Sprintf("  - {tool: %s, do: ask, why: %s}\n", name, front.Quote("its list of tools restricts "+name)))
		switch {
		case len(allowed[name]) > 0:
			t.note("%s is restricted: what the list names is allowed, a person is asked about everything else (rules)", name)
		case t.allows:
			t.note("%s is restricted in a way that no rule can express: a person is asked about every call (rules)", name)
		default:
			t.note("%s is restricted, and a project's rules cannot allow: a person is asked about every call (rules); --own keeps the restriction as it is", name)
		}
	}
}

// conditionOf returns the condition of a rule as YAML.
func conditionOf(r guard.Rule) string {
	switch {
	case r.Match != "":
		return "match: " + front.Quote(r.Match)
	case r.Host != "":
		return "host: " + front.Quote(r.Host)
	}
	return "path: " + front.Quote(r.Path)
}
