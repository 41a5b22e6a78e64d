package front

import (
	"bytes"
	"regexp"
	"strings"

	"fika/internal/settings/toml"
)

// Split separates the settings at the top of a Markdown file from the rest. A file
// without settings is all body. closed is false if the settings are not terminated.
func Split(data []byte) (front, body []byte, closed bool) {
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

// Fill reads the settings in s.Data into t, and returns the offset of the text below
// them. It returns false if they cannot be read; the problems of s say why.
func Fill(s *toml.Source, t *toml.Table) (body int, ok bool) {
	front, text, closed := Split(s.Data)
	if !closed {
		s.Problem(0, "the settings have no end: close them with a line of three dashes")
		return len(s.Data), false
	}
	return len(s.Data) - len(text), yamlReader{s}.read(front, t)
}

// Matter is the settings at the top of any Markdown file, and the text below them.
type Matter struct {
	Body string
	// BodyLine is the line of the file in which Body begins.
	BodyLine int
	root     *toml.Table
	source   *toml.Source
}

// Read reads a file, which is only named, strictly. Error kind: Invalid, with file and
// line. What could be read is returned all the same.
func Read(file string, data []byte) (Matter, error) {
	var problems toml.Problems
	s := toml.Read(file, nil, &problems)
	s.Data = data
	m := Matter{root: &toml.Table{}, source: s}
	at, _ := Fill(s, m.root)
	m.Body, m.BodyLine = string(data[at:]), s.Place(at).Line
	return m, problems.Err(file)
}

// ReadLoose is [Read], but also reads a file whose settings are not YAML because of what
// stands in a value without quotes, as in "description: Use this agent when: …". Other
// programs write such files and read each line as a name and a text. loose is then what
// the strict reading found wrong; err is nil if the file could be read in either way.
func ReadLoose(file string, data []byte) (m Matter, loose, err error) {
	m, err = Read(file, data)
	if err == nil {
		return m, nil, nil
	}
	front, body, closed := Split(data)
	if !closed {
		return m, nil, err
	}
	plain, lines := plainSetting(), strings.Split(string(front), "\n")
	for i, line := range lines {
		if found := plain.FindStringSubmatch(strings.TrimRight(line, " \t\r")); found != nil {
			lines[i] = found[1] + ": " + Quote(found[2])
		}
	}
	again, failed := Read(file, []byte("---\n"+strings.Join(lines, "\n")+"---\n"+string(body)))
	if failed != nil {
		return m, nil, err
	}
	return again, err, nil
}

// plainSetting matches a setting at the top of a file whose value is written without
// quotes.
func plainSetting() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*):[ \t]+([^"'\[{|>&*!#%@` + "`" + `\s].*)$`)
}

// Quote quotes s so that YAML reads it back unchanged.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

// Keys returns the names of the settings, in order.
func (m Matter) Keys() []string {
	var out []string
	for _, e := range m.root.Entries {
		out = append(out, e.Name)
	}
	return out
}

// Value returns a setting, and the line that it begins in; nil and 1 if there is none.
func (m Matter) Value(key string) (v *toml.Value, line int) {
	e := m.root.Get(key)
	if e == nil {
		return nil, 1
	}
	return &e.Value, m.source.Place(e.At).Line
}

// LineOf returns the line of an offset in the file, as in [toml.Value.At].
func (m Matter) LineOf(offset int) int { return m.source.Place(offset).Line }

// Text returns a setting that is a text, or "".
func (m Matter) Text(key string) string {
	if v, _ := m.Value(key); v != nil && v.Kind == toml.KindText {
		return v.Text
	}
	return ""
}

// List returns the texts of a setting: the items of a list, or the parts between
// commas.
func (m Matter) List(key string) []string {
	found, _ := m.Value(key)
	if found == nil {
		return nil
	}
	v := *found
	if v.Kind == toml.KindText {
		v = ListOf(v)
	}
	var out []string
	for _, item := range v.Items {
		if item.Kind == toml.KindText {
			out = append(out, item.Text)
		}
	}
	if v.Kind == toml.KindTable {
		for _, e := range v.Table.Entries { // {read: true, bash: false}
			if e.Value.Kind == toml.KindBool && e.Value.Text == "true" {
				out = append(out, e.Name)
			}
		}
	}
	return out
}

// ListOf converts a text "a, b" to a list.
func ListOf(v toml.Value) toml.Value {
	out := toml.Value{Kind: toml.KindList, At: v.At}
	for _, word := range strings.Split(v.Text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out.Items = append(out.Items, toml.Value{Kind: toml.KindText, At: v.At, Text: word})
		}
	}
	return out
}
