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

// within returns the path of the innermost item that a row is or is part of, or else of
// the outermost repetition.
func (e *engine) within(r *Row) string {
	path := ""
	for ; r != nil; r = e.rows[r.Parent] {
		switch g := e.rows[r.Parent]; {
		case g != nil && g.Kind == KindEach:
			return r.Path
		case r.Kind == KindRepeat:
			path = r.Path
		}
	}
	return path
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
				err = fmt.Errorf("there is no agent %q%s", name, orKnown(name, known))
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
