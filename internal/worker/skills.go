package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/skill"
	"fika/internal/rights/guard"
	"fika/internal/settings/config"
	"fika/internal/tool"
	"fika/internal/tool/note"
	"fika/internal/turn"
	"fika/internal/turn/approval"
)

// SkillsOf returns the skills that a context with these settings may use, by name.
func SkillsOf(a *app.App, s config.Settings) []skill.Skill {
	if len(s.Skills) == 0 {
		return nil
	}
	found := skill.Find(a.SkillPlaces())
	return found.Allowed(s.Skills)
}

// skillTool loads one of the skills. Without any it has a name but is not offered.
func skillTool(skills []skill.Skill) tool.Tool {
	return tool.Func[struct{ Name string }]{
		About: tool.Spec{
			Name: tool.SkillName, Description: "Load a skill: what to do, and which files it has.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
			Always:     true, Hidden: len(skills) == 0, Effect: fika.Pure,
		},
		Do: func(_ context.Context, _ tool.Call, args struct{ Name string }) (tool.Result, error) {
			i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.Name == args.Name })
			if i < 0 {
				return tool.Refusal(fika.Errorf(fika.NotFound, "skill", "skill %q not found among those that you may use", args.Name)), nil
			}
			now, problems, ok := skill.Read(skills[i].Dir) // as it is now
			if !ok {
				return tool.Errorf("the skill cannot be used as it is now: " + problems[0].String()), nil
			}
			return tool.Result{Text: skillText(now), File: skills[i].Place + "/" + now.Name}, nil
		},
	}
}

// skillText returns what a model reads of a skill that it has loaded.
func skillText(s skill.Skill) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Skill %s, in the folder %s, which can be read and not changed.\n", s.Name, s.Dir)
	if s.Compatibility != "" {
		fmt.Fprintf(&b, "Needs: %s\n", s.Compatibility)
	}
	if s.AllowedTools != nil {
		fmt.Fprintf(&b, "Until the end of this turn only these tools: %s\n", strings.Join(s.AllowedTools, " "))
	}
	if len(s.Files) > 0 {
		b.WriteString("Files:\n")
	}
	for _, f := range s.Files {
		what := ""
		if f.Exec {
			what = ", executable"
		}
		fmt.Fprintf(&b, "- %s (%d bytes%s)\n", f.Path, f.Size, what)
	}
	return b.String() + "\n" + strings.TrimSpace(s.Body)
}

// skillDirs returns the folders of the skills that the context may use.
func (b Toolbox) skillDirs() []string {
	var out []string
	for _, s := range b.skills() {
		out = append(out, s.Dir)
	}
	return out
}

// withinSkills returns why a call is outside of what the loaded skills allow; "" if it is
// not. The tools that every agent has whatever tool_permissions says are not limited.
func (r *Runtime) withinSkills(c tool.Call) string {
	if len(c.Skills) == 0 || slices.Contains(alwaysTools(), c.Name) {
		return ""
	}
	for _, s := range r.toolbox.skills() {
		if s.AllowedTools != nil && slices.Contains(c.Skills, s.Name) && !skillAllows(s, c, r.worker.App.Getenv("HOME")) {
			return fmt.Sprintf("the skill %s, which this turn has loaded, allows only %s", s.Name, strings.Join(append([]string{}, s.AllowedTools...), " "))
		}
	}
	return ""
}

// alwaysTools returns the names of tools that are not a matter of permissions.
func alwaysTools() []string {
	list := append(note.Tools(note.Options{Reflection: true}), peers{}.tools()...)
	list = slices.DeleteFunc(list, func(t tool.Tool) bool { return t.Spec().ByName })
	return append(toolNames(list), fika.JobOutputTool, fika.JobEndTool, tool.SkillName, tool.SearchName)
}

// skillAllows reports whether allowed-tools of a skill include a call.
func skillAllows(s skill.Skill, c tool.Call, home string) bool {
	var rules []guard.Rule
	for _, text := range s.AllowedTools {
		g := guard.ParseGrant(text)
		names, known := g.Tools()
		if !known {
			names = []string{g.Name}
		}
		for _, name := range names {
			server, isServer := strings.CutPrefix(name, "mcp:")
			if name != c.Name && (!isServer || !strings.HasPrefix(c.Name, server+"__")) {
				continue
			}
			if g.Only == "" {
				return true
			}
			if rule, ok := g.Rule(name); ok {
				rules = append(rules, rule)
			}
		}
	}
	if len(rules) == 0 {
		return false
	}
	verdict := approval.Judge{Rules: rules, Default: guard.Ask, Home: home}.Judge(tool.Call{Name: c.Name, Args: c.Args, Workspace: c.Workspace})
	return verdict.Do == guard.Allow
}

// narrow denies what the loaded skills do not allow.
func (r *Runtime) narrow(c tool.Call, v turn.Verdict) turn.Verdict {
	if v.Do == guard.Deny {
		return v
	}
	if why := r.withinSkills(c); why != "" {
		return turn.Verdict{Do: guard.Deny, What: c.Name, Rule: why}
	}
	return v
}
