package migrate

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"fika/internal/settings/config"
)

// draft is the new file while it is being written.
type draft struct {
	text  strings.Builder
	lost  []string
	check []string
}

func (d *draft) reportLost(what, why string)  { d.lost = append(d.lost, what+": "+why) }
func (d *draft) reportDoubt(what, why string) { d.check = append(d.check, what+": "+why) }
func (d *draft) addComment(text string)       { d.text.WriteString("# " + text + "\n") }
func (d *draft) addHeader(name, about string) { fmt.Fprintf(&d.text, "\n# %s\n%s\n", about, name) }

// putKey writes a key, or reports a value of a kind that fika has no place for.
func (d *draft) putKey(key string, v any, from string) {
	text, ok := tomlLiteral(v)
	if !ok {
		d.reportLost(from, "a value that fika cannot write")
		return
	}
	d.text.WriteString(key + " = " + text + "\n")
}

func tomlLiteral(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return config.QuoteTOML(strings.ToValidUTF8(v, "\ufffd")), true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		if v == float64(int64(v)) {
			return strconv.FormatInt(int64(v), 10), true
		}
		text, err := json.Marshal(v) // refuses NaN and infinities
		return strings.ToLower(string(text)), err == nil
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				return "", false
			}
			parts[i] = config.QuoteTOML(strings.ToValidUTF8(text, "\ufffd"))
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	return "", false
}

// strikeOut comments out the line that a problem points to, or the whole entry if it is
// not valid without that line.
func (d *draft) strikeOut(text string, p config.Problem) string {
	lines := strings.Split(text, "\n")
	at := min(max(p.Line-1, 0), len(lines)-1)
	from, to := at, at+1
	if strings.HasPrefix(lines[at], "[") || strings.HasPrefix(lines[at], "id = ") {
		for from > 0 && !strings.HasPrefix(lines[from], "[") {
			from--
		}
		for to < len(lines) && lines[to] != "" {
			to++
		}
	}
	d.reportLost(strings.TrimSpace(lines[at]), p.Message)
	out := append([]string{}, lines[:from]...)
	out = append(out, "# not accepted: "+strings.ReplaceAll(p.Message, "\n", " "))
	for _, line := range lines[from:to] {
		out = append(out, strings.TrimRight("# "+line, " "))
	}
	return strings.Join(append(out, lines[to:]...), "\n")
}

// object is a table of the source. Taking a key removes it; keys left at the end are
// lost.
type object struct {
	draft  *draft
	path   string
	fields map[string]any
}

// takeFirst returns the first of the keys that exists, and removes all of them.
func (o object) takeFirst(keys ...string) (any, string, bool) {
	var value any
	var name string
	found := false
	for _, want := range keys {
		for _, spelled := range []string{want, camelCase(want)} {
			v, ok := o.fields[spelled]
			delete(o.fields, spelled)
			if ok && v != nil && !found {
				value, name, found = v, o.path+spelled, true
			}
		}
	}
	return value, name, found
}

// moveKey writes a key under its fika name, if the source has it.
func (o object) moveKey(key string, names ...string) bool {
	v, from, ok := o.takeFirst(append(names, key)...)
	if ok {
		o.draft.putKey(key, v, from)
	}
	return ok
}

func (o object) takeText(names ...string) string {
	v, from, ok := o.takeFirst(names...)
	s, isText := v.(string)
	if ok && !isText {
		o.draft.reportLost(from, "not a text")
	}
	return s
}

func (o object) tableOf(names ...string) (object, bool) {
	v, from, ok := o.takeFirst(names...)
	fields, isTable := v.(map[string]any)
	if ok && !isTable {
		o.draft.reportLost(from, "not a table")
	}
	return object{o.draft, from + ".", fields}, isTable
}

// listOf returns the tables of a list.
func (o object) listOf(names ...string) []object {
	v, from, ok := o.takeFirst(names...)
	items, isList := v.([]any)
	if ok && !isList {
		o.draft.reportLost(from, "not a list")
	}
	var list []object
	for i, item := range items {
		path := fmt.Sprintf("%s[%d]", from, i)
		if fields, ok := item.(map[string]any); ok {
			list = append(list, object{o.draft, path + ".", fields})
			continue
		}
		o.draft.reportLost(path, "not a table")
	}
	return list
}

func (o object) keys() []string {
	var list []string
	for k := range o.fields {
		list = append(list, k)
	}
	sort.Strings(list)
	return list
}

// reportRest reports every key that was not taken.
func (o object) reportRest(reasons map[string]string) {
	for _, k := range o.keys() {
		why := reasons[k]
		if why == "" {
			why = "fika has no such setting"
		}
		o.draft.reportLost(o.path+k, why)
	}
}

// camelCase turns heartbeat_check_interval into heartbeatCheckInterval.
func camelCase(s string) string {
	parts := strings.Split(s, "_")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "" {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
	}
	return strings.Join(parts, "")
}

// moveReasoning writes a source's setting for reasoning: an effort, a number of tokens,
// true, or a table of these.
func (o object) moveReasoning(names ...string) {
	v, from, ok := o.takeFirst(names...)
	if !ok {
		return
	}
	if fields, isTable := v.(map[string]any); isTable {
		inner := object{o.draft, from + ".", fields}
		if tokens, _, ok := inner.takeFirst("max_tokens"); ok {
			v = tokens
		} else if effort, _, ok := inner.takeFirst("effort"); ok {
			v = effort
		} else if enabled, _, ok := inner.takeFirst("enabled"); ok {
			v = enabled
		} else {
			v = nil
		}
		delete(inner.fields, "enabled")
		delete(inner.fields, "effort")
		inner.reportRest(map[string]string{"exclude": "reasoning goes to stderr only with --show-thinking"})
	}
	text, _ := tomlLiteral(v)
	switch v.(type) {
	case string:
		o.draft.text.WriteString("reasoning = {effort = " + text + "}\n")
	case bool:
		o.draft.text.WriteString("reasoning = {enabled = " + text + "}\n")
	case int64, float64:
		if text != "0" {
			o.draft.text.WriteString("reasoning = {max_tokens = " + text + "}\n")
		}
	default:
		o.draft.reportLost(from, "not understood")
	}
}
