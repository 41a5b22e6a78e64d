package agent

import (
	"fmt"
	"strings"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/store"
)

// Status shows a status message just as the agent's own terminal shows the event.
func (d *Display) Status(s message.Status) {
	t := d.remoteTurn(fika.RequestID(s.RequestID))
	switch s.Status {
	case "processing":
		switch {
		case s.Data.Kind != "":
			prompt := s.Data.Prompt
			if prompt == "" {
				prompt = s.ConversationID
			}
			t.writeLine("[RECEIVED:%s @%s] %s", strings.ToUpper(s.Data.Kind), s.AgentName, prompt)
			t.writeLine("%s", processingText(s.Data.Continues))
		case s.Data.Message != "":
			t.writeLine("[WARNING] %s", s.Data.Message)
		}
	case "streaming":
		switch {
		case s.Data.Restart:
			t.take.Restart()
		case !s.Data.Reasoning:
			t.writeText(t.take.Add(s.Data.Chunk))
		}
	case "tool_call":
		t.completeAnswer()
		t.writeLine("[TOOL: %s] %s", s.Data.ToolName, MainArgument(s.Data.ToolArgs))
	case "tool_result":
		if s.Data.Denied {
			t.writeLine("[TOOL REFUSED: %s] %s", s.Data.ToolName, firstLine(s.Data.Message))
			return
		}
		t.writeLine("[TOOL RESULT] %s", firstLine(s.Data.Message))
	case "completed":
		t.completeAnswer()
		t.writeLine("[COMPLETED ✓]")
		d.forgetTurn(t)
	case "error":
		t.writeLine("[ERROR ✗] %s", s.Data.Message)
		d.forgetTurn(t)
	default:
		t.writeLine("[%s] %s", strings.ToUpper(fmt.Sprintf("%.40s", s.Status)), s.Data.Message)
	}
}

// remoteTurn returns the turn of a request that another process works on. Only one
// goroutine may show statuses.
func (d *Display) remoteTurn(id fika.RequestID) *shownTurn {
	t := d.others[id]
	if t == nil {
		t = &shownTurn{d: d, c: store.Claimed{Request: fika.Request{ID: id}}}
		if d.others == nil {
			d.others = map[fika.RequestID]*shownTurn{}
		}
		d.others[id] = t
		d.countTurns(1)
	}
	return t
}

// forgetTurn removes a turn that has ended.
func (d *Display) forgetTurn(t *shownTurn) {
	delete(d.others, t.c.Request.ID)
	d.countTurns(-1)
}

// Entry shows a committed entry of a running request, except for its prompt, which has
// been shown.
func (d *Display) Entry(e fika.Entry, who fika.AgentName) {
	switch e.Type {
	case fika.Message:
		if e.From == string(who) {
			d.writeLine("%s", e.Content)
		}
	case fika.ToolCall:
		d.writeLine("[TOOL: %s] %s", e.To, MainArgument([]byte(e.Content)))
	case fika.ToolResult:
		d.writeLine("[TOOL RESULT] %s", firstLine(e.Content))
	case fika.Compaction:
		d.writeLine("[COMPACTED]")
	case fika.Notice:
		d.writeLine("[WARNING] %s", e.Content)
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
