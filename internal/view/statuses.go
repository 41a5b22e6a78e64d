package view

import (
	"slices"
	"strings"

	"fika/internal/message"
)

// Statuses shows in a Feed what agents tell of their turns on the bus, where a
// message may be missing: what is streamed is placed by its offset, and End
// shows the rest. It is for one goroutine.
type Statuses struct {
	feed  *Feed
	turns map[string]*progress
}

// progress is how far one turn was shown.
type progress struct {
	step  int
	seen  int  // bytes of the text of step
	gap   bool // something of it is missing: only the end can show it
	calls []Call
}

// NewStatuses makes a Statuses that shows things in feed.
func NewStatuses(feed *Feed) *Statuses {
	return &Statuses{feed: feed, turns: map[string]*progress{}}
}

// Show takes one status.
func (s *Statuses) Show(st message.Status) {
	id, name := st.RequestID, st.AgentName
	p := s.turns[id]
	if p == nil {
		p = &progress{}
		s.turns[id] = p
	}
	d := st.Data
	switch st.Status {
	case "processing":
		if d.Message != "" {
			s.feed.Note(id, name, "("+d.Message+")")
			return
		}
		s.feed.Busy(id, name, "thinking")
	case "streaming":
		s.chunk(p, id, name, d)
	case "tool_call":
		c := Call{Tool: d.ToolName, Args: d.ToolArgs}
		p.calls = append(p.calls, c)
		s.feed.Calls(id, name, c)
	case "tool_result":
		c := p.called(d.ToolName)
		c.Output, c.Denied, c.Failed = d.Message, d.Denied, d.Success != nil && !*d.Success
		s.feed.Called(id, name, c)
	}
}

// chunk shows a piece of an answer once.
func (s *Statuses) chunk(p *progress, id, name string, d message.StatusData) {
	switch {
	case d.Reasoning:
		s.feed.Busy(id, name, "thinking")
		return
	case d.Restart:
		p.seen, p.gap = 0, false
		s.feed.Restart(id, name) // why comes in a message of its own
		return
	}
	if d.Step != p.step {
		if p.step > 0 {
			s.feed.Round(id, name)
		}
		p.step, p.seen, p.gap = d.Step, 0, false
	}
	if d.Offset > p.seen {
		p.gap = true
	}
	if p.gap || d.Offset+len(d.Chunk) <= p.seen {
		return
	}
	s.feed.Text(id, name, d.Chunk[p.seen-d.Offset:])
	p.seen = d.Offset + len(d.Chunk)
}

// called gives the first call of a tool that has not ended. A call that nobody
// told of has no arguments.
func (p *progress) called(tool string) Call {
	at := slices.IndexFunc(p.calls, func(c Call) bool { return c.Tool == tool })
	if at < 0 {
		return Call{Tool: tool}
	}
	c := p.calls[at]
	p.calls = slices.Delete(p.calls, at, at+1)
	return c
}

// End says that a turn has ended, with the answer as it was kept; "" where
// there is none.
func (s *Statuses) End(id, name, answer string) {
	delete(s.turns, id)
	s.feed.End(id, name, strings.TrimSpace(answer))
}
