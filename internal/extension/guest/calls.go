package guest

import (
	"encoding/json"
	"slices"
	"strings"

	"fika/internal/extension/acp"
	"fika/internal/text/safetext"
	"fika/internal/tool"
	"fika/internal/turn"
)

const (
	// maxCalls is how many tool calls of a turn are remembered.
	maxCalls = 4096
	// maxArgs is how long the arguments of a call may be, in bytes; longer ones are left
	// out.
	maxArgs = 256 << 10
	// maxName is how long the name of a tool may be.
	maxName = 64
)

// calls remembers the tool calls of a turn: an update tells only what has changed.
type calls struct {
	byID map[string]*acp.Update
	past map[string]bool // those of the turn before, of which something may still be told
	ours []tool.Spec     // fika's own tools
}

func newCalls(ours []tool.Spec) *calls { return &calls{map[string]*acp.Update{}, nil, ours} }

// turn begins a new turn.
func (c *calls) turn() {
	c.past = map[string]bool{}
	for id := range c.byID {
		c.past[id] = true
	}
	clear(c.byID)
}

// isOurs reports whether a call is of one of fika's own tools, in the words in which
// programs name the tools of a server. Such a call is stored as it arrives at the table.
func (c *calls) isOurs(id string) bool {
	u := c.byID[id]
	if u == nil {
		return false
	}
	if u.ToolKind == "execute" { // as Codex says of the tools of a server
		var of struct{ Server, Command string }
		if json.Unmarshal(u.Input, &of) != nil || of.Server != tableName || of.Command != "" {
			return false
		}
	} else if slices.Contains([]string{"edit", "delete", "move"}, u.ToolKind) {
		return false
	}
	return slices.ContainsFunc(c.ours, func(t tool.Spec) bool {
		return slices.ContainsFunc([]string{"mcp__fika__%", "fika_%", "mcp_fika_%", "mcp.fika.%", "% (fika MCP Server)"}, func(form string) bool {
			name := strings.Replace(form, "%", t.Name, 1)
			return u.Title == name || u.Name == name
		})
	})
}

// event returns what an update tells; false: nothing that counts.
func (c *calls) event(u acp.Update) (turn.GuestEvent, bool) {
	switch u.Kind {
	case acp.MessageChunk:
		text := u.Said()
		return turn.GuestEvent{Text: text, Message: u.MessageID}, text != ""
	case acp.ThoughtChunk:
		text := u.Said()
		return turn.GuestEvent{Thought: text}, text != ""
	case acp.ToolCall, acp.ToolUpdate:
		if u.Kind == acp.ToolCall {
			delete(c.past, u.ToolCallID)
		}
		if u.ToolCallID == "" || c.past[u.ToolCallID] {
			return turn.GuestEvent{}, false
		}
		call := c.merge(u)
		return turn.GuestEvent{Call: &call}, !c.isOurs(u.ToolCallID)
	case acp.Plan:
		return turn.GuestEvent{Plan: planText(u.Entries), Planned: true}, true
	}
	return turn.GuestEvent{}, false
}

// merge adds what an update tells of a call to what is known of it.
func (c *calls) merge(u acp.Update) turn.GuestCall {
	known := c.byID[u.ToolCallID]
	if known == nil {
		if len(c.byID) >= maxCalls {
			clear(c.byID)
		}
		known = &acp.Update{}
		c.byID[u.ToolCallID] = known
	}
	known.ToolCallID = u.ToolCallID
	set(&known.Title, u.Title)
	set(&known.Name, u.Name)
	set(&known.ToolKind, u.ToolKind)
	set(&known.Status, u.Status)
	if len(u.Input) > 0 && string(u.Input) != "null" {
		known.Input = u.Input
	}
	if len(u.Output) > 0 && string(u.Output) != "null" {
		known.Output = u.Output
	}
	if u.Content != nil {
		known.Content = u.Content
	}
	if len(u.Locations) > 0 {
		known.Locations = u.Locations
	}
	out := turn.GuestCall{ID: known.ToolCallID, Output: outputOf(*known), Ended: known.Status == acp.Completed || known.Status == acp.Failed, Failed: known.Status == acp.Failed}
	out.Tool, out.Args = toolOf(*known)
	out.Ready = out.Ended || known.Status == acp.InProgress || len(known.Input) > len("{}") && !isBare(*known)
	return out
}

// isBare reports whether it is not known yet which command a call runs.
func isBare(u acp.Update) bool {
	var args map[string]json.RawMessage
	return u.ToolKind == "execute" && (json.Unmarshal(u.Input, &args) != nil || commandOf(args) == "")
}

func set(into *string, text string) {
	if text != "" {
		*into = text
	}
}

// toolOf returns the tool of a call, and its arguments as an object, in the words of
// fika's own tools where it does the same as one of them: rules are about those.
func toolOf(u acp.Update) (string, json.RawMessage) {
	var args map[string]json.RawMessage
	if json.Unmarshal(u.Input, &args) != nil || args == nil {
		args = map[string]json.RawMessage{}
		if len(u.Input) > 0 && len(u.Input) <= maxArgs {
			args["input"] = u.Input
		}
	}
	command, path, url := commandOf(args), pathOf(u, args), textIn(args, "url")
	name := ""
	switch {
	case command == "" && u.ToolKind == "execute":
		command = strings.Trim(u.Title, "` ")
		fallthrough
	case command != "":
		name = "bash"
		put(args, "command", command)
	case url != "" && u.ToolKind == "fetch":
		name = "fetch"
	case path != "" && u.ToolKind == "read":
		name = "read"
	case path != "" && (u.ToolKind == "edit" || u.ToolKind == "delete" || u.ToolKind == "move"):
		name = "edit"
	default:
		name = cleanName(u.Name, u.ToolKind)
	}
	if path != "" && name != "bash" {
		put(args, "path", path)
	}
	if title := safetext.Line(u.Title); title != "" && name != "bash" {
		put(args, "title", title)
	}
	raw, err := json.Marshal(args)
	if err != nil || len(raw) > maxArgs {
		short := map[string]string{"title": clip(safetext.Line(u.Title), 200), "left_out": "the arguments are too long"}
		raw, _ = json.Marshal(short) // texts, which cannot fail
	}
	return name, raw
}

func put(args map[string]json.RawMessage, key, text string) {
	if raw, err := json.Marshal(text); err == nil {
		args[key] = raw
	}
}

func textIn(args map[string]json.RawMessage, keys ...string) string {
	for _, key := range keys {
		var text string
		if json.Unmarshal(args[key], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// commandOf returns the command line that a call runs: a text, or words, of which a shell's
// are left out.
func commandOf(args map[string]json.RawMessage) string {
	if text := textIn(args, "command", "cmd"); text != "" {
		return text
	}
	for _, key := range []string{"command", "cmd"} {
		var words []string
		if json.Unmarshal(args[key], &words) != nil || len(words) == 0 {
			continue
		}
		if len(words) == 3 && strings.HasSuffix(words[0], "sh") && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
			return words[2]
		}
		return strings.Join(words, " ")
	}
	return ""
}

func pathOf(u acp.Update, args map[string]json.RawMessage) string {
	if path := textIn(args, "path", "file_path", "filePath", "abs_path"); path != "" {
		return path
	}
	if len(u.Locations) > 0 {
		return u.Locations[0].Path
	}
	return ""
}

// cleanName returns the first of the names as one that a tool may have.
func cleanName(names ...string) string {
	for _, name := range names {
		name = strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			}
			return '_'
		}, clip(name, maxName))
		if strings.Trim(name, "_") != "" {
			return name
		}
	}
	return "tool"
}

// clip shortens s to at most n bytes, at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// outputOf returns what a call has brought, as text.
func outputOf(u acp.Update) string {
	var parts []string
	for _, c := range u.Contents() {
		switch {
		case c.Type == "diff" && c.Path != "":
			parts = append(parts, "changed "+c.Path)
		case c.Content != nil && c.Content.Text != "":
			parts = append(parts, c.Content.Text)
		}
	}
	if len(parts) > 0 || len(u.Output) == 0 {
		return strings.Join(parts, "\n")
	}
	var text string
	if json.Unmarshal(u.Output, &text) == nil {
		return text
	}
	return string(u.Output)
}

// planText writes a plan as the list of things to do of an agent.
func planText(entries []acp.PlanEntry) string {
	var b strings.Builder
	for i, e := range entries {
		if i == 100 {
			break
		}
		mark := " "
		switch e.Status {
		case "completed":
			mark = "x"
		case "in_progress":
			mark = "-"
		}
		b.WriteString("- [" + mark + "] " + clip(safetext.Line(e.Content), 500) + "\n")
	}
	return b.String()
}
