package agent

import (
	"fmt"
	"strings"

	"fika"
	"fika/internal/message"
)

// Status shows a status message as the agent's own terminal shows what it
// tells of.
func (d *Display) Status(s message.Status) {
	switch s.Status {
	case "processing":
		switch {
		case s.Data.Kind != "":
			prompt := s.Data.Prompt
			if prompt == "" {
				prompt = s.ConversationID
			}
			d.line("[RECEIVED:%s @%s] %s", strings.ToUpper(s.Data.Kind), s.AgentName, prompt)
			d.processing(s.Data.Continues)
		case s.Data.Message != "":
			d.line("[WARNING] %s", s.Data.Message)
		}
	case "streaming":
		switch {
		case s.Data.Restart:
			d.restarted(fika.RequestID(s.RequestID))
		case !s.Data.Reasoning:
			d.piece(fika.RequestID(s.RequestID), s.Data.Chunk)
		}
	case "tool_call":
		d.complete(fika.RequestID(s.RequestID))
		d.line("[TOOL: %s] %s", s.Data.ToolName, Subject(s.Data.ToolArgs))
	case "tool_result":
		d.line("[TOOL RESULT] %s", firstLine(s.Data.Message))
	case "completed":
		d.complete(fika.RequestID(s.RequestID))
		d.line("[COMPLETED ✓]")
	case "error":
		d.line("[ERROR ✗] %s", s.Data.Message)
	default:
		d.line("[%s] %s", strings.ToUpper(fmt.Sprintf("%.40s", s.Status)), s.Data.Message)
	}
}

// Entry shows a committed entry of a request that runs; its prompt is shown
// already.
func (d *Display) Entry(e fika.Entry, who fika.AgentName) {
	switch e.Type {
	case fika.Message:
		if e.From == string(who) {
			d.line("%s", e.Content)
		}
	case fika.ToolCall:
		d.line("[TOOL: %s] %s", e.To, Subject([]byte(e.Content)))
	case fika.ToolResult:
		d.line("[TOOL RESULT] %s", firstLine(e.Content))
	case fika.Compaction:
		d.line("[COMPACTED]")
	case fika.Notice:
		d.line("[WARNING] %s", e.Content)
	}
}

// Break ends an open line.
func (d *Display) Break() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open {
		fmt.Fprintln(d.out)
		d.open = false
	}
}
