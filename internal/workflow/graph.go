package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// TreeText draws a definition as text: each step below the last of the steps that it
// needs, with what it does and what else it waits for.
func (d *Definition) TreeText() string {
	var b strings.Builder
	title := d.Name
	if d.Description != "" {
		title = strings.TrimSpace(title + ": " + d.Description)
	}
	b.WriteString(title + "\n")
	d.drawSteps(&b, "", d.Nested)
	return b.String()
}

func (d *Definition) drawSteps(b *strings.Builder, indent string, nested map[string]*Definition) {
	g := graph{def: d, nested: nested, depth: map[string]int{}}
	g.draw(b, "", indent)
}

// graph arranges the steps of one definition as a tree.
type graph struct {
	def    *Definition
	nested map[string]*Definition
	depth  map[string]int
}

// depthOf returns the length of the longest chain of steps that come before a step.
func (g *graph) depthOf(s *Step) int {
	if n, ok := g.depth[s.ID]; ok {
		return n
	}
	deepest := 0
	for _, need := range s.Needs {
		if other := g.def.Step(need); other != nil {
			deepest = max(deepest, g.depthOf(other)+1)
		}
	}
	g.depth[s.ID] = deepest
	return deepest
}

// above returns the step below which a step is drawn: the last of those that it
// needs.
func (g *graph) above(s *Step) string {
	best := ""
	for _, need := range s.Needs {
		if best == "" || g.depthOf(g.def.Step(need)) >= g.depthOf(g.def.Step(best)) {
			best = need
		}
	}
	return best
}

func (g *graph) draw(b *strings.Builder, parent, indent string) {
	var below []*Step
	for i := range g.def.Steps {
		if s := &g.def.Steps[i]; g.above(s) == parent {
			below = append(below, s)
		}
	}
	for i, s := range below {
		branch, further := "├─ ", "│  "
		if i == len(below)-1 {
			branch, further = "└─ ", "   "
		}
		fmt.Fprintf(b, "%s%s%s  %s\n", indent, branch, s.ID, g.about(s, parent))
		if inner := g.nested[s.Workflow]; s.Workflow != "" && inner != nil {
			inner.drawSteps(b, indent+further+"┆  ", g.nested)
		}
		g.draw(b, s.ID, indent+further)
	}
}

// about describes in one line what a step does.
func (g *graph) about(s *Step, parent string) string {
	parts := []string{g.def.who(s)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.When != "" {
		add("when %s", s.When)
	}
	if s.ForEach != "" {
		add("for each of %s, %d at a time", s.ForEach, s.MaxParallel)
	}
	if s.Repeat != nil {
		add("until %s, at most %d times", s.Repeat.Until, s.Repeat.Max)
	}
	if s.Retry.Max > 0 {
		add("retried %s", times(s.Retry.Max))
	}
	if s.Timeout > 0 {
		add("at most %s", s.Timeout)
	}
	if s.Output == OutputJSON {
		add("gives JSON")
	}
	if s.Approve && s.Kind() != KindApproval {
		add("after approval")
	}
	others := slices.DeleteFunc(slices.Clone(s.Needs), func(id string) bool { return id == parent })
	switch {
	case s.Join == JoinAny:
		add("when the first is done of %s", strings.Join(s.Needs, ", "))
	case s.Join == JoinEnded && len(s.Needs) == 1:
		add("whatever came of %s", s.Needs[0])
	case s.Join == JoinEnded:
		add("after %s, whatever came of them", strings.Join(s.Needs, ", "))
	case len(others) > 0:
		add("also after %s", strings.Join(others, ", "))
	}
	return strings.Join(parts, "; ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("up to %d times", n)
}

// who names the agents or the person that a step waits for.
func (d *Definition) who(s *Step) string {
	switch s.Kind() {
	case KindWorkflow:
		return "workflow " + s.Workflow
	case KindChat:
		names := make([]string, len(s.Chat.Agents))
		for i, a := range s.Chat.Agents {
			names[i] = d.shownAgent(a)
		}
		return "chat of " + strings.Join(names, ", ")
	case KindPost:
		return "posts in " + strings.TrimPrefix(d.shownAgent(s.Post), "@")
	case KindAgent:
		if s.Agent == "" {
			return "whoever can " + s.Capability
		}
		return d.shownAgent(s.Agent)
	}
	switch {
	case len(s.Choice) > 0:
		return "a person chooses one of " + strings.Join(s.Choice, ", ")
	case s.Answer != "":
		return "a person answers"
	}
	return "a person approves"
}

// shownAgent returns an agent's name; for one that is an input, the default, and for one
// that is known later, where it comes from.
func (d *Definition) shownAgent(agent string) string {
	name, isInput := strings.CutPrefix(agent, "{{.inputs.")
	name, whole := strings.CutSuffix(name, "}}")
	if in := d.input(name); isInput && whole && in != nil {
		if text, ok := in.Default.(string); ok {
			return "@" + text
		}
		return "@(" + name + ")"
	}
	if name, isOther := strings.CutPrefix(agent, "{{."); isOther {
		return "@(" + strings.TrimSuffix(name, "}}") + ")"
	}
	return "@" + agent
}

// DotGraph returns a definition in the language of Graphviz, with nested workflows
// drawn as boxes.
func (d *Definition) DotGraph() string {
	var b strings.Builder
	b.WriteString("digraph workflow {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	d.dotSteps(&b, "", "  ", d.Nested)
	b.WriteString("}\n")
	return b.String()
}

func (d *Definition) dotSteps(b *strings.Builder, path, indent string, nested map[string]*Definition) {
	for i := range d.Steps {
		s := &d.Steps[i]
		id := path + s.ID
		fmt.Fprintf(b, "%s%q [label=%q];\n", indent, id, s.ID+"\n"+d.who(s))
		for _, need := range s.Needs {
			style := ""
			if s.Join == JoinAny {
				style = " [style=dashed]"
			}
			fmt.Fprintf(b, "%s%q -> %q%s;\n", indent, path+need, id, style)
		}
		if inner := nested[s.Workflow]; s.Workflow != "" && inner != nil {
			fmt.Fprintf(b, "%ssubgraph %q {\n%s  label=%q;\n", indent, "cluster_"+id, indent, s.Workflow)
			inner.dotSteps(b, id+"/", indent+"  ", nested)
			fmt.Fprintf(b, "%s}\n", indent)
		}
	}
}
