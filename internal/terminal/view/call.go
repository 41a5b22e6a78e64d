package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika/internal/bus/message"
	"fika/internal/system/term"
)

// Look says how lines are rendered.
type Look struct {
	Style term.Style
	Width int // columns; 0: 80
}

func (l Look) width() int {
	if l.Width <= 0 {
		return term.DefaultWidth
	}
	return l.Width
}

// Call is a tool call that has ended.
type Call struct {
	ID     string // tells calls of one turn apart; empty: not known
	Tool   string
	Args   json.RawMessage
	Output string        // as the model was given it
	Failed bool          // it did not do what it should
	Denied bool          // it was not permitted
	Took   time.Duration // 0: unknown
}

// The limits on what is shown of a call.
const (
	endLines  = 6  // of the output of a failed call
	diffLines = 12 // of an edit
	indent    = "  "
)

// Lines returns the call as a person reads it: what was done and how it ended, the end
// of the output of a failure, and the changes of an edit.
func (c Call) Lines(l Look) []string {
	switch {
	case c.Denied:
		return c.denied(l)
	case c.Failed:
		output, why := c.failure()
		return append([]string{c.head(l, l.Style.Red("✗"), why)}, l.end(output)...)
	}
	if d, ok := c.difference(); ok {
		return d.lines(l)
	}
	return []string{c.head(l, l.Style.Green("✓"), c.note())}
}

// denied returns a call that was not allowed, with the reason: below it where the line has
// no room for both.
func (c Call) denied(l Look) []string {
	why := term.CleanLine(strings.TrimPrefix(firstLine(c.Output), "denied: "))
	c.Took = 0 // it did not begin
	head := c.head(l, l.Style.Red("✗"), "not allowed: "+why)
	if term.Width("✗ "+c.Title()+" not allowed: "+why) <= l.width()-3 {
		return []string{head}
	}
	return []string{c.head(l, l.Style.Red("✗"), "not allowed"), l.Style.Dim(term.Truncate(indent+why, l.width()-1))}
}

// Full returns the call with all its arguments and output.
func (c Call) Full(l Look) []string {
	out := []string{c.head(l, l.Style.Dim("▸"), "")}
	if d, ok := c.difference(); ok {
		d.full = true
		out = d.lines(l)
	} else if args := c.rest(); args != "" {
		for _, line := range strings.Split(strings.TrimRight(term.Clean(args), "\n"), "\n") {
			out = append(out, indent+tabs(line))
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(term.Clean(c.Output)), "\n") {
		if line != "" || len(out) > 1 {
			out = append(out, l.Style.Dim(indent+tabs(line)))
		}
	}
	return out
}

// rest returns the arguments that the title leaves out.
func (c Call) rest() string {
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil {
		return ""
	}
	var parts []string
	for _, key := range sortedKeys(args) {
		s := text(args[key])
		if s == "" {
			s = compact(args[key])
		}
		if !strings.Contains(c.Title(), s) {
			parts = append(parts, key+": "+s)
		}
	}
	return strings.Join(parts, "\n")
}

// head returns the first line of a call; note comes last.
func (c Call) head(l Look, sign, note string) string {
	if c.Took >= 100*time.Millisecond {
		note = strings.TrimSpace("(" + term.Duration(c.Took) + ") " + note)
	}
	text := c.Title()
	if note != "" {
		room := l.width() - term.Width(note) - len("✗ ")
		text = term.Truncate(text, max(l.width()/3, room)) + " " + note
	}
	return sign + " " + term.Truncate(term.CleanLine(text), l.width()-3)
}

// failure separates the output of a failed call from the reason for the failure.
func (c Call) failure() (output, why string) {
	text := strings.TrimRight(c.Output, "\n")
	at := strings.LastIndexByte(text, '\n') + 1
	last := text[at:]
	if code, ok := strings.CutPrefix(last, "exit status "); ok {
		return text[:at], "exit " + code
	}
	if at == 0 || strings.HasPrefix(last, "ended by signal") || strings.HasPrefix(last, "stopped after") {
		return text[:at], last
	}
	return text, ""
}

// end returns the last lines of an output.
func (l Look) end(output string) []string {
	output = strings.TrimSpace(term.Clean(output))
	if output == "" {
		return nil
	}
	lines := strings.Split(output, "\n")
	var out []string
	if more := len(lines) - endLines; more > 0 {
		lines = lines[more:]
		out = append(out, l.Style.Dim(fmt.Sprintf(indent+"… %d lines before", more)))
	}
	for _, line := range lines {
		out = append(out, l.Style.Dim(term.Truncate(indent+tabs(line), l.width()-1)))
	}
	return out
}

func tabs(line string) string { return strings.ReplaceAll(line, "\t", "    ") }

// note returns what is worth mentioning about a successful call.
func (c Call) note() string {
	if c.Tool != "read" || strings.HasSuffix(c.Output, "]") || strings.HasSuffix(c.Output, "…") {
		return ""
	}
	n := strings.Count(strings.TrimSuffix(c.Output, "\n"), "\n") + 1
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("(%d lines)", n)
}

// Title returns what a call does, in one line without escapes: the tool and its most
// informative argument.
func (c Call) Title() string {
	return term.CleanLine(strings.TrimSpace(c.Tool + " " + subject(c.Args)))
}

// subject returns the most informative argument: the recipient of a message, a path, a
// command, an address; else all arguments.
func subject(raw json.RawMessage) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil {
		return firstLine(string(raw))
	}
	for _, who := range []string{"to", "agent"} {
		if name := text(args[who]); name != "" {
			said := firstOf(args, "message", "prompt", "text", "content")
			return strings.TrimSuffix("→ @"+strings.TrimPrefix(name, "@")+": "+firstLine(said), ": ")
		}
	}
	if s := firstOf(args, "path", "file", "command", "url", "pattern", "query"); s != "" {
		return firstLine(s)
	}
	var parts []string
	for _, key := range sortedKeys(args) {
		switch s := text(args[key]); {
		case key == message.ShortenedKey:
		case s != "":
			parts = append(parts, key+": "+firstLine(s))
		case titles(args[key]) != "":
			parts = append(parts, key+": "+firstLine(titles(args[key])))
		default:
			parts = append(parts, key+": "+compact(args[key]))
		}
	}
	return strings.Join(parts, ", ")
}

func firstOf(args map[string]json.RawMessage, keys ...string) string {
	for _, k := range keys {
		if s := text(args[k]); s != "" {
			return s
		}
	}
	return ""
}

// text returns a JSON string, or "" if raw is not one.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// titles returns what the items of a list are called; "" if raw is no list of items that all
// have a title or a name.
func titles(raw json.RawMessage) string {
	var items []map[string]json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return ""
	}
	var out []string
	for _, item := range items {
		s := firstOf(item, "title", "name")
		if s == "" {
			return ""
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "?"
	}
	return b.String()
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// firstLine returns the first line of a text, with a mark if there are more.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = strings.TrimSpace(s[:i]) + " …"
	}
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
