package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika/internal/settings/toml"
)

// maxInput is how many bytes one input may have.
const maxInput = 1 << 20

// bind returns the value of an input in the form that JSON decodes to; the second
// result says what is wrong.
func (i *Input) bind(given map[string]string, agents []Agent) (any, string) {
	text, ok := given[i.Name]
	if !ok {
		if i.needed() {
			return nil, fmt.Sprintf("the input %s is missing: %s", i.Name, i.example())
		}
		if name, isText := i.Default.(string); isText && i.Type == TypeAgent {
			for _, other := range i.Fallback {
				if i.wrongAgent(name, agents) != "" && i.wrongAgent(other, agents) == "" {
					return other, ""
				}
			}
			return name, i.wrongAgent(name, agents)
		}
		return i.Default, ""
	}
	if len(text) > maxInput {
		return nil, fmt.Sprintf("the input %s has %d bytes, more than %d: put it into a file and name that", i.Name, len(text), maxInput)
	}
	switch i.Type {
	case TypeNumber:
		return i.bindJSON(text, "a number, as in -i "+i.Name+"=3")
	case TypeBoolean:
		return i.bindJSON(text, "true or false, as in -i "+i.Name+"=true")
	case TypeList:
		return i.bindJSON(text, `a list, as in -i '`+i.Name+`=["a", "b"]'`)
	case TypeAgent:
		name := strings.ToLower(strings.TrimPrefix(text, "@"))
		return name, i.wrongAgent(name, agents)
	}
	return text, ""
}

func (i *Input) example() string {
	about := i.Description
	if about != "" {
		about = "  (" + about + ")"
	}
	return "-i " + i.Name + "=…" + about
}

// wrongAgent says that there is no such agent.
func (i *Input) wrongAgent(name string, agents []Agent) string {
	names := Known{Agents: agents}.agentNames()
	if agents == nil || slices.Contains(names, name) {
		return ""
	}
	return fmt.Sprintf("%s: agent %s not found%s; say which one with -i %s=NAME", i.Name, toml.Quote(name), orKnown(name, names), i.Name)
}

// bindJSON reads a value written as JSON and checks its type.
func (i *Input) bindJSON(text, want string) (any, string) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	right := false
	switch v := v.(type) {
	case json.Number:
		right = i.Type == TypeNumber
	case bool:
		right = i.Type == TypeBoolean
	case []any:
		right = i.Type == TypeList && len(v) <= MaxItems
	}
	if err != nil || !right || dec.More() {
		return nil, fmt.Sprintf("the input %s must be %s", i.Name, want)
	}
	return v, ""
}

// The bounds of a run's title: a line, however much the run was given.
const (
	maxTitle      = 400 // characters of the whole
	maxTitleValue = 80  // characters of one input
)

// Title returns the title of a run with the given inputs, as shown in lists.
func (d *Definition) Title(given map[string]string) string {
	title := cmp.Or(d.Name, d.Description)
	for i := range d.Inputs {
		if v, ok := given[d.Inputs[i].Name]; ok {
			title += " " + d.Inputs[i].Name + "=" + brief(v, maxTitleValue)
		}
	}
	return brief(title, maxTitle)
}

// brief returns a text as one line, cut to most characters.
func brief(text string, most int) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) <= most {
		return string(line)
	}
	return string(line[:most-1]) + "…"
}
