package front

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fika/internal/settings/toml"
)

// yamlReader converts YAML into the same tree as TOML, with positions.
type yamlReader struct{ *toml.Source }

// read fills t, and returns false if the settings cannot be read.
func (y yamlReader) read(front []byte, t *toml.Table) bool {
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
		y.Problem(y.offsetOf(top.Line, top.Column), "the settings are keys with values, as in description: writes tests")
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
				for _, said := range []string{"',' or", "key", "'-'", "node content"} {
					if strings.HasPrefix(after, "did not find expected "+said) {
						line++ // errors of the parser proper count lines from 0
					}
				}
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

func (y yamlReader) readTable(n *yaml.Node, t *toml.Table) bool {
	ok := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := y.offsetOf(key.Line, key.Column)
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			y.Problem(at, "this is not a name of a setting")
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
			t.Entries = append(t.Entries, toml.Entry{Name: key.Value, At: at, Value: v})
		}
	}
	return ok
}

func (y yamlReader) readValue(n *yaml.Node) (toml.Value, bool) {
	v := toml.Value{At: y.offsetOf(n.Line, n.Column), Text: n.Value}
	switch n.Kind {
	case yaml.MappingNode:
		v.Kind, v.Table = toml.KindTable, &toml.Table{At: v.At}
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
