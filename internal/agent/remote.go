package agent

import (
	"fmt"
	"strings"

	"fika"
	"fika/internal/message"
	"fika/internal/store"
)

// Status shows a status message as the agent's own terminal shows what it
// tells of.
func (d *Display) Status(s message.Status) {
	t := d.remote(fika.RequestID(s.RequestID))
	switch s.Status {
	case "processing":
		switch {
		case s.Data.Kind != "":
			prompt := s.Data.Prompt
			if prompt == "" {
				prompt = s.ConversationID
			}
			t.line("[RECEIVED:%s @%s] %s", strings.ToUpper(s.Data.Kind), s.AgentName, prompt)
			t.line("%s", processing(s.Data.Continues))
		case s.Data.Message != "":
			t.line("[WARNING] %s", s.Data.Message)
		}
	case "streaming":
		switch {
		case s.Data.Restart:
			t.take.Restart()
		case !s.Data.Reasoning:
			t.text(t.take.Add(s.Data.Chunk))
		}
	case "tool_call":
		t.complete()
		t.line("[TOOL: %s] %s", s.Data.ToolName, Subject(s.Data.ToolArgs))
	case "tool_result":
		if s.Data.Denied {
			t.line("[TOOL REFUSED: %s] %s", s.Data.ToolName, firstLine(s.Data.Message))
			return
		}
		t.line("[TOOL RESULT] %s", firstLine(s.Data.Message))
	case "completed":
		t.complete()
		t.line("[COMPLETED ✓]")
		d.forget(t)
	case "error":
		t.line("[ERROR ✗] %s", s.Data.Message)
		d.forget(t)
	default:
		t.line("[%s] %s", strings.ToUpper(fmt.Sprintf("%.40s", s.Status)), s.Data.Message)
	}
}

// remote returns the turn of a request that another process works on. Statuses
// are shown by one goroutine.
func (d *Display) remote(id fika.RequestID) *shownTurn {
	t := d.others[id]
	if t == nil {
		t = &shownTurn{d: d, c: store.Claimed{Request: fika.Request{ID: id}}}
		if d.others == nil {
			d.others = map[fika.RequestID]*shownTurn{}
		}
		d.others[id] = t
		d.count(1)
	}
	return t
}

// forget says that a turn has ended.
func (d *Display) forget(t *shownTurn) {
	delete(d.others, t.c.Request.ID)
	d.count(-1)
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
