package config

import (
	"strings"

	"fika"
	"fika/internal/settings/front"
	"fika/internal/settings/toml"
)

// An agent may be a Markdown file: its settings as YAML between two lines of three
// dashes, and its system prompt below them. It stands for an [[agents]] entry whose id
// is the name of the file.

// readAgent reads the file of an agent into the tree of that entry.
func readAgent(file string, data []byte, problems *toml.Problems) *toml.Source {
	s := toml.Read(file, nil, problems)
	s.Data = data
	own := &table{}
	s.Root = &table{Entries: []entry{{Name: "agents", Value: value{Kind: toml.KindList, Items: []value{{Kind: toml.KindTable, Table: own}}}}}}
	name, err := agentName(file)
	if err != nil {
		s.Problem(0, "an agent's file is called by its name, as in coder.md: %s", fika.ReasonOf(err))
		s.Broken = true
		return s
	}
	body, ok := front.Fill(s, own)
	if !ok {
		s.Broken = true
		return s
	}
	for i := range own.Entries {
		adaptKey(s, &own.Entries[i], own)
	}
	own.Entries = append(own.Entries, entry{Name: "id", Value: value{Kind: toml.KindText, Text: string(name)}})
	if prompt := strings.TrimSpace(string(data[body:])); prompt != "" {
		// The final line break distinguishes it from the path of a prompt.
		own.Entries = append(own.Entries, entry{Name: "system_prompt", At: body, Value: value{Kind: toml.KindText, At: body, Text: prompt + "\n"}})
	}
	return s
}

// adaptKey gives a key of an agent's file the name and form that it has in [[agents]].
func adaptKey(s *toml.Source, e *entry, t *table) {
	switch e.Name {
	case "tools":
		if t.Get("tool_permissions") != nil {
			s.Problem(e.At, "tools and tool_permissions are the same: keep one")
		}
		e.Name = "tool_permissions"
		fallthrough
	case "tool_permissions", "capabilities", "readable_by", "tools_off", "models", "skills":
		if e.Value.Kind == toml.KindText { // tools: read, bash
			e.Value = front.ListOf(e.Value)
		}
	case "id":
		s.Problem(e.At, "the name of the file is the agent's id: remove this line, or rename the file")
		e.Name = "name"
	case "system_prompt":
		s.Problem(e.At, "the prompt of this agent is the text below the settings: put it there")
	}
}
