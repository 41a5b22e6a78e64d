package doctor

import (
	"slices"
	"strings"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/settings/config"
	"fika/internal/text/spelling"
)

// acting lists the built-in tools that change something, with what they do.
var acting = [...]struct{ name, does string }{{"bash", "run commands"}, {"edit", "edit files"}, {"create", "create files"}}

// checkRights reports agents that act for others that may not do so themselves, and
// names in callable_by that no agent has.
func (d *examination) checkRights() {
	const check = "rights"
	c, err := d.app.Config()
	if err != nil {
		return
	}
	all := map[fika.AgentName]config.Settings{}
	var names []fika.AgentName
	known, _, _ := d.home.List()
	for _, a := range c.Agents {
		name := fika.AgentName(a.ID)
		known = append(known, name)
		if a.Pool != "" {
			continue // the entry of its pool is checked
		}
		if s, err := d.app.Settings(name, nil, true); err == nil { // errors in settings are reported elsewhere
			all[name], names = s, append(names, name)
		}
	}
	for _, name := range names {
		s := all[name]
		d.checkCallers(check, name, s.Guard.CallableBy, known)
		if s.Guard.Rights == guard.RightsLeast {
			continue
		}
		for _, tool := range acting {
			var less []string
			for _, other := range names {
				if other != name && !slices.Contains(all[other].ToolPermissions, tool.name) && guard.MayCall(s.Guard.CallableBy, string(other)) {
					less = append(less, "@"+string(other))
				}
			}
			if slices.Contains(s.ToolPermissions, tool.name) && len(less) > 0 {
				d.add(check, Note, "rights = \"least\" in [guard], or callable_by of "+string(name),
					"%s cannot %s, but can make @%s do it", strings.Join(less, " and "), tool.does, name)
				break
			}
		}
	}
}

// checkCallers reports names in callable_by that no agent has.
func (d *examination) checkCallers(check string, name fika.AgentName, by []string, known []fika.AgentName) {
	words := make([]string, len(known))
	for i, n := range known {
		words[i] = string(n)
	}
	for _, who := range by {
		if who == guard.User || who == guard.Anyone || slices.Contains(words, who) {
			continue
		}
		hint := ""
		if near := spelling.Nearest(who, words); near != "" {
			hint = "; did you mean " + near + "?"
		}
		d.add(check, Note, "", "callable_by of @%s names %s, and that agent does not exist%s", name, who, hint)
	}
}
