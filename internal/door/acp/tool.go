package acp

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"fika/internal/api"
	"fika/internal/extension/acp"
)

// toolCall shows that a tool is called.
func (s *session) toolCall(request string, e api.Entry) {
	s.mu.Lock()
	if e.CallID != "" {
		s.steps[e.CallID] = e.ID
	}
	s.calls[e.ID] = call{request, e.To, e.Content}
	s.streamOf(request).open++
	s.mu.Unlock()
	if plan, ok := todos(e.To, e.Content); ok {
		s.update(acp.Update{Kind: "plan", Entries: plan})
	}
	u := describe(e.To, e.Content, s.dir)
	u.Kind, u.ToolCallID, u.Status = "tool_call", e.ID, "in_progress"
	s.update(u)
}

// maxShown is how much of a tool's output a client gets, in bytes.
const maxShown = 64 << 10

// toolResult shows what came of a call.
func (s *session) toolResult(e api.Entry, m meta) {
	s.mu.Lock()
	c, known := s.calls[e.ReplyTo]
	delete(s.calls, e.ReplyTo)
	if e.CallID != "" {
		delete(s.steps, e.CallID)
	}
	var held []api.Event
	if known {
		l := s.streamOf(c.request)
		if l.open--; l.open == 0 {
			held, l.held = l.held, nil
		}
	}
	s.mu.Unlock()
	if !known {
		return // the call is not shown
	}
	defer func() {
		for _, d := range held {
			s.delta(d)
		}
	}()
	u := acp.Update{Kind: "tool_call_update", ToolCallID: e.ReplyTo, Status: "completed"}
	if m.IsError {
		u.Status = "failed"
	}
	shown := e.Content
	if len(shown) > maxShown {
		shown = strings.ToValidUTF8(shown[:maxShown], "") + "\n[…]"
	}
	content := describe(c.tool, c.args, s.dir).Contents() // what an update has replaces what was there
	if shown != "" && (m.IsError || len(content) == 0) {
		b := acp.Text(shown)
		content = append(content, acp.ToolContent{Type: "content", Content: &b})
	}
	if len(content) > 0 {
		u.Content = content
	}
	s.update(u)
}

// describe says what a tool call does: its title, kind, places and changes.
func describe(tool, args, dir string) acp.Update {
	var a struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
		Old     *string `json:"old"`
		New     *string `json:"new"`
		Command string  `json:"command"`
		URL     string  `json:"url"`
		Offset  float64 `json:"offset"`
	}
	_ = json.Unmarshal([]byte(args), &a) // what is missing or of another type stays empty
	u := acp.Update{Title: tool, ToolKind: kindOf(tool), Input: raw(args)}
	about := a.Path
	switch {
	case a.Command != "":
		about = a.Command
	case a.URL != "":
		about = a.URL
	}
	if line, _, _ := strings.Cut(about, "\n"); line != "" {
		if r := []rune(line); len(r) > 120 {
			line = string(r[:120]) + "…"
		}
		u.Title = tool + " " + line
	}
	if a.Path == "" {
		return u
	}
	path := a.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	u.Locations = []acp.Location{{Path: path}}
	switch {
	case tool == "read" && a.Offset >= 1 && a.Offset < 1<<31:
		u.Locations[0].Line = int(a.Offset)
	case tool == "edit" && a.New != nil:
		u.Content = []acp.ToolContent{{Type: "diff", Path: path, Old: a.Old, New: a.New}}
	case tool == "create" && a.Content != nil:
		u.Content = []acp.ToolContent{{Type: "diff", Path: path, New: a.Content}}
	}
	return u
}

// raw returns arguments as JSON.
func raw(args string) json.RawMessage {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	out, _ := json.Marshal(args) // of a string it cannot fail
	return out
}

func kindOf(tool string) string {
	switch tool {
	case "read", "recall", "read_context":
		return "read"
	case "list", "tool_search":
		return "search"
	case "edit", "create":
		return "edit"
	case "bash":
		return "execute"
	case "fetch":
		return "fetch"
	case "update_todos", "update_goals", "update_reflection":
		return "think"
	}
	return "other"
}

// todos returns the plan in the arguments of update_todos: a line each, with [x] for what
// is done and [-], [~] or [>] for what is under way.
func todos(tool, args string) ([]acp.PlanEntry, bool) {
	if tool != "update_todos" {
		return nil, false
	}
	var a struct {
		Content string `json:"content"`
	}
	if json.Unmarshal([]byte(args), &a) != nil {
		return nil, false
	}
	out := []acp.PlanEntry{}
	for line := range strings.Lines(a.Content) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*+ "))
		p := acp.PlanEntry{Content: line, Priority: "medium", Status: "pending"}
		if mark, rest, ok := strings.Cut(line, "]"); ok && len(mark) == 2 && mark[0] == '[' {
			p.Content = strings.TrimSpace(rest)
			switch mark[1] {
			case 'x', 'X':
				p.Status = "completed"
			case '-', '~', '>', '/':
				p.Status = "in_progress"
			}
		}
		if p.Content != "" && !strings.HasPrefix(p.Content, "#") {
			out = append(out, p)
		}
	}
	return out, true
}
