package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fika"
)

// agentNames returns the names of the agents that work a row, and the rows whose
// outputs chose them. A row whose agent has no name fails.
func (e *engine) agentNames(r *Row, s *Step) (names, sources []string, ok bool) {
	for _, t := range s.code.who {
		data, from, err := e.data(r, t.refs)
		if e.err != nil {
			return nil, nil, false
		}
		name := ""
		if err == nil {
			name, err = t.agent(data)
		}
		if err != nil {
			e.end(r, Failed, ReasonPrompt, "agent: "+err.Error())
			return nil, nil, false
		}
		names, sources = append(names, name), append(sources, from...)
	}
	return names, sources, true
}

// within returns the path of the innermost item that a row is or is part of, and that of
// the same item in the round before; or else the path of the outermost repetition.
func (e *engine) within(r *Row) []string {
	var paths []string
	for ; r != nil; r = e.rows[r.Parent] {
		switch g := e.rows[r.Parent]; {
		case g != nil && g.Kind == KindEach:
			return append([]string{r.Path}, e.roundBefore(r)...)
		case r.Kind == KindRepeat:
			paths = []string{r.Path}
		}
	}
	return paths
}

// roundBefore returns the path that an item had in the round before; nothing if it is in
// no round, or in the first.
func (e *engine) roundBefore(item *Row) []string {
	for r := item; r != nil; r = e.rows[r.Parent] {
		if g := e.rows[r.Parent]; g != nil && g.Kind == KindRepeat && r.Index > 1 {
			return []string{g.roundPath(r.Index-1) + strings.TrimPrefix(item.Path, r.Path)}
		}
	}
	return nil
}

// agent returns the name of the agent that a template makes.
func (t *template) agent(data map[string]any) (string, error) {
	text, err := t.render(data)
	if err != nil {
		return "", err
	}
	n, err := fika.ParseAgentName(strings.TrimPrefix(strings.TrimSpace(text), "@"))
	return string(n), err
}

// shownWrong is how many items an error about their agents names.
const shownWrong = 3

// wrongAgents says which items of a list name agents that do not exist, so that nothing
// of a step begins that could not be finished; it returns "" if all exist, or if nothing
// is known of agents.
func (e *engine) wrongAgents(g *Row, s *Step, list []any) string {
	var chosen []*template
	var refs []ref
	for _, t := range s.code.who {
		if t.tree != nil {
			chosen = append(chosen, t)
			refs = append(refs, t.refs...)
		}
	}
	if len(chosen) == 0 || e.Agents == nil {
		return ""
	}
	known, err := e.Agents()
	e.fail(err)
	data, _, err := e.data(g, slices.DeleteFunc(refs, func(r ref) bool { return r.path[0] == "item" || r.path[0] == "index" }))
	if err != nil {
		return err.Error()
	}
	var wrong []string
	for i, item := range list {
		data["item"], data["index"] = item, json.Number(strconv.Itoa(i))
		for _, t := range chosen {
			name, err := t.agent(data)
			if err == nil && !slices.Contains(known, name) {
				err = fmt.Errorf("agent %q not found%s", name, orKnown(name, known))
			}
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("item %d (%s): %v", i+1, shortItem(item), err))
				break
			}
		}
	}
	if len(wrong) > shownWrong {
		wrong = append(wrong[:shownWrong], fmt.Sprintf("and %d more", len(wrong)-shownWrong))
	}
	return strings.Join(wrong, "; ")
}

// shortItem returns the beginning of an item, as JSON.
func shortItem(item any) string {
	const most = 60
	text, err := json.Marshal(item)
	if short := []rune(string(text)); err == nil && len(short) > most {
		return string(short[:most]) + "…"
	}
	return string(text)
}
