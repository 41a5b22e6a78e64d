package config

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fika/internal/toml"
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
		s.Problem(0, "an agent's file is called by its name, as in coder.md: %s", reasonOf(err))
		s.Broken = true
		return s
	}
	front, body, ok := SplitFront(data)
	if !ok {
		s.Problem(0, "the settings have no end: close them with a line of three dashes")
		s.Broken = true
		return s
	}
	y := yamlReader{s}
	if !y.readFront(front, own) {
		s.Broken = true
		return s
	}
	for i := range own.Entries {
		y.adaptKey(&own.Entries[i], own)
	}
	own.Entries = append(own.Entries, entry{Name: "id", Value: value{Kind: toml.KindText, Text: string(name)}})
	if prompt := strings.TrimSpace(string(body)); prompt != "" {
		// The final line break distinguishes it from the path of a prompt.
		own.Entries = append(own.Entries, entry{Name: "system_prompt", At: len(data) - len(body), Value: value{Kind: toml.KindText, At: len(data) - len(body), Text: prompt + "\n"}})
	}
	return s
}

// SplitFront separates the settings at the top of a Markdown file from the rest. A file
// without settings is all body. closed is false if the settings are not terminated.
func SplitFront(data []byte) (front, body []byte, closed bool) {
	const fence = "---"
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	first, rest, found := bytes.Cut(text, []byte("\n"))
	if !found || strings.TrimRight(string(first), " \t\r") != fence {
		return nil, text, true
	}
	at := rest
	for len(at) > 0 {
		line, next, _ := bytes.Cut(at, []byte("\n"))
		if strings.TrimRight(string(line), " \t\r") == fence {
			return rest[:len(rest)-len(at)], next, true
		}
		at = next
	}
	return nil, nil, false
}

// yamlReader converts YAML into the same tree as TOML, with positions.
type yamlReader struct{ *toml.Source }

// readFront fills t, and returns false if the settings cannot be read.
func (y yamlReader) readFront(front []byte, t *table) bool {
	if len(bytes.TrimSpace(front)) == 0 {
		return true
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(append([]byte("\n"), front...), &doc); err != nil { // the added line stands for the opening dashes
		line, words := yamlTrouble(err)
		y.Problem(y.offsetOf(line, 1), "%s", words)
		return false
	}
	if len(doc.Content) == 0 {
		return true
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		y.Problem(y.offsetOf(top.Line, top.Column), "the settings of an agent are keys with values, as in model: sonnet")
		return false
	}
	return y.readTable(top, t)
}

// yamlTrouble extracts the line from an error of the parser.
func yamlTrouble(err error) (line int, words string) {
	words = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(words, "line "); ok {
		if n, after, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(n); err == nil {
				return line, after
			}
		}
	}
	return 1, words
}

// offsetOf converts a position of the parser into an offset in the file.
func (y yamlReader) offsetOf(line, column int) int {
	at := y.Begin()
	for ; line > 1; line-- {
		next := bytes.IndexByte(y.Data[at:], '\n')
		if next < 0 {
			return len(y.Data)
		}
		at += next + 1
	}
	return min(at+max(column-1, 0), len(y.Data))
}

func (y yamlReader) readTable(n *yaml.Node, t *table) bool {
	ok := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := y.offsetOf(key.Line, key.Column)
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			y.Problem(at, "this is no name of a setting")
			ok = false
			continue
		}
		if t.Get(key.Value) != nil {
			y.Problem(at, "%s is set twice", key.Value)
			ok = false
			continue
		}
		v, good := y.readValue(n.Content[i+1])
		if ok = ok && good; good {
			t.Entries = append(t.Entries, entry{Name: key.Value, At: at, Value: v})
		}
	}
	return ok
}

func (y yamlReader) readValue(n *yaml.Node) (value, bool) {
	v := value{At: y.offsetOf(n.Line, n.Column), Text: n.Value}
	switch n.Kind {
	case yaml.MappingNode:
		v.Kind, v.Table = toml.KindTable, &table{At: v.At}
		return v, y.readTable(n, v.Table)
	case yaml.SequenceNode:
		v.Kind = toml.KindList
		for _, item := range n.Content {
			one, ok := y.readValue(item)
			if !ok {
				return v, false
			}
			v.Items = append(v.Items, one)
		}
		return v, true
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!bool":
			v.Kind, v.Text = toml.KindBool, strings.ToLower(n.Value)
		case "!!int":
			v.Kind = toml.KindInt
		case "!!float":
			v.Kind = toml.KindFloat
		default:
			v.Kind = toml.KindText
		}
		return v, true
	}
	y.Problem(v.At, "references (* and &) are not read here: write the value itself")
	return v, false
}

// adaptKey gives a key of an agent's file the name and form that it has in [[agents]].
func (y yamlReader) adaptKey(e *entry, t *table) {
	switch e.Name {
	case "tools":
		if t.Get("tool_permissions") != nil {
			y.Problem(e.At, "tools and tool_permissions are the same: keep one")
		}
		e.Name = "tool_permissions"
		fallthrough
	case "tool_permissions", "capabilities", "readable_by", "tools_off", "models":
		if e.Value.Kind == toml.KindText { // tools: read, bash
			e.Value = listOf(e.Value)
		}
	case "id":
		y.Problem(e.At, "the name of the file is the agent's id: remove this line, or rename the file")
		e.Name = "name"
	case "system_prompt":
		y.Problem(e.At, "the prompt of this agent is the text below the settings: put it there")
	}
}

// listOf converts "a, b" to a list.
func listOf(v value) value {
	out := value{Kind: toml.KindList, At: v.At}
	for _, word := range strings.Split(v.Text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out.Items = append(out.Items, value{Kind: toml.KindText, At: v.At, Text: word})
		}
	}
	return out
}

// Front is the settings at the top of any Markdown file, not only of fika's agents, and
// the text below them.
type Front struct {
	Body string
	root *table
}

// ReadFront reads a file into a Front. Error kind: Invalid, with file and line.
func ReadFront(file string, data []byte) (Front, error) {
	var problems Problems
	s := toml.Read(file, nil, &problems)
	s.Data = data
	front, body, ok := SplitFront(data)
	f := Front{Body: string(body), root: &table{}}
	if !ok {
		s.Problem(0, "the settings have no end: close them with a line of three dashes")
	} else {
		yamlReader{s}.readFront(front, f.root)
	}
	return f, problems.Err(file)
}

// Keys returns the names of the settings, in order.
func (f Front) Keys() []string {
	var out []string
	for _, e := range f.root.Entries {
		out = append(out, e.Name)
	}
	return out
}

// Text returns a setting that is a text, or "".
func (f Front) Text(key string) string { return textOf(f.root.Get(key)) }

// List returns the texts of a setting: the items of a list, or the parts between
// commas.
func (f Front) List(key string) []string {
	e := f.root.Get(key)
	if e == nil {
		return nil
	}
	v := e.Value
	if v.Kind == toml.KindText {
		v = listOf(v)
	}
	var out []string
	for _, item := range v.Items {
		if item.Kind == toml.KindText {
			out = append(out, item.Text)
		}
	}
	for _, e := range tableOf(v) { // {read: true, bash: false}
		if e.Value.Kind == toml.KindBool && e.Value.Text == "true" {
			out = append(out, e.Name)
		}
	}
	return out
}

func tableOf(v value) []entry {
	if v.Kind != toml.KindTable {
		return nil
	}
	return v.Table.Entries
}
