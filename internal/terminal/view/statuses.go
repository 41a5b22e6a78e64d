package view

import (
	"context"
	"slices"
	"strings"
	"sync"

	"fika/internal/bus/message"
)

// Statuses shows in a Feed what agents report about their turns on the bus. Since
// messages may be lost, streamed text is placed by its offset, and End shows the rest.
// It is safe for concurrent use.
type Statuses struct {
	feed *Feed

	mu    sync.Mutex
	turns map[string]*progress
	ended map[string]bool // turns of which nothing more is shown
}

// progress is how much of one turn has been shown.
type progress struct {
	step     int
	seen     int  // bytes of the text of step
	gap      bool // part of it is missing: only the end can show it
	calls    []Call
	begun    bool          // everything since its beginning was received
	told     []Call        // calls that have ended
	over     chan struct{} // closed when the end of the turn was received
	missed   bool          // nobody worked on it at the last look, and nothing was received since
	left     bool          // nobody works on it any more; its text may be stored later
	keptStep int           // the last step whose message was stored after it was streamed
	kept     []string      // messages that were shown before they were streamed
}

// NewStatuses returns a Statuses that shows things in feed.
func NewStatuses(feed *Feed) *Statuses {
	return &Statuses{feed: feed, turns: map[string]*progress{}, ended: map[string]bool{}}
}

// Show handles one status.
func (s *Statuses) Show(st message.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, name := st.RequestID, st.AgentName
	if s.ended[id] {
		return
	}
	p := s.turn(id)
	p.missed = false
	d := st.Data
	switch st.Status {
	case "processing":
		if d.Message != "" {
			s.feed.Note(id, name, "("+d.Message+")")
			return
		}
		if p.left {
			p = s.again(id)
		}
		p.begun = p.begun || d.Kind != ""
		s.feed.Busy(id, name, "thinking")
	case "streaming":
		p.left = false // it continues after all
		s.chunk(p, id, name, d)
	case "tool_call":
		c := Call{ID: d.CallID, Tool: d.ToolName, Args: d.ToolArgs}
		p.calls = append(p.calls, c)
		s.feed.Calls(id, name, c)
	case "tool_result":
		c := p.called(d.CallID, d.ToolName)
		if c.Args == nil {
			c.Args = d.ToolArgs
		}
		c.Output, c.Denied, c.Failed = d.Message, d.Denied, d.Success != nil && !*d.Success
		p.told = append(p.told, c)
		s.feed.Called(id, name, c)
	case "completed", "error":
		s.feed.Over(id)
		select {
		case <-p.over:
		default:
			close(p.over)
		}
	}
}

func (s *Statuses) turn(id string) *progress {
	if s.turns[id] == nil {
		s.turns[id] = &progress{over: make(chan struct{})}
	}
	return s.turns[id]
}

// again says that a turn is worked on anew, from its beginning.
func (s *Statuses) again(id string) *progress {
	delete(s.turns, id)
	return s.turn(id)
}

// Missed says that nobody listened to the bus for a while, so that statuses of turns
// under way may be missing.
func (s *Statuses) Missed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.turns {
		p.begun = false
	}
}

// Heard reports whether the bus has reported everything about a turn, or the turn is
// over.
func (s *Statuses) Heard(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[id] || s.turn(id).begun
}

// Fill shows the calls of a turn that the bus has not reported.
func (s *Statuses) Fill(id, name string, calls []Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.turn(id)
	told := slices.Clone(p.told)
	for _, c := range calls {
		at := slices.IndexFunc(told, func(t Call) bool {
			return t.Tool == c.Tool && strings.HasPrefix(c.Output, strings.TrimSuffix(t.Output, "…"))
		})
		if at >= 0 {
			told = slices.Delete(told, at, at+1)
			continue
		}
		p.told = append(p.told, c)
		s.feed.Called(id, name, c)
	}
}

// chunk shows a piece of an answer once.
func (s *Statuses) chunk(p *progress, id, name string, d message.StatusData) {
	switch {
	case d.Reasoning:
		s.feed.Thought(id, name, d.Chunk)
		return
	case d.Restart:
		p.seen, p.gap = 0, false
		s.feed.Restart(id, name) // the reason comes in its own message
		return
	}
	if p.keptStep > 0 && d.Step == p.keptStep || d.Step < p.step {
		return // its message is stored and shown
	}
	if d.Step != p.step {
		if p.step > 0 {
			s.feed.Round(id, name)
		}
		p.step, p.seen, p.gap = d.Step, 0, false
	}
	p.gap = d.Offset > p.seen
	if p.gap || d.Offset+len(d.Chunk) <= p.seen {
		return
	}
	text := d.Chunk[p.seen-d.Offset:]
	p.seen = d.Offset + len(d.Chunk)
	if len(p.kept) > 0 && strings.HasPrefix(p.kept[0], text) {
		if p.kept[0] = p.kept[0][len(text):]; strings.TrimSpace(p.kept[0]) == "" {
			p.kept, p.keptStep = p.kept[1:], p.step
		}
		return
	}
	s.feed.Text(id, name, text)
}

// called returns a call that has not ended: the one with the id, since calls of one tool
// may end in any order, or, from an agent that gives none, the first of the tool. A call
// that was not announced has no arguments.
func (p *progress) called(id, tool string) Call {
	at := slices.IndexFunc(p.calls, func(c Call) bool { return c.ID == id && c.Tool == tool })
	if at < 0 {
		return Call{ID: id, Tool: tool}
	}
	c := p.calls[at]
	p.calls = slices.Delete(p.calls, at, at+1)
	return c
}

// End says that a turn has ended, with its stored answer; "" if there is none.
func (s *Statuses) End(id, name, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, id)
	s.ended[id] = true
	s.feed.End(id, name, strings.TrimSpace(answer))
}

// Kept reports a stored message of a turn, before or after its pieces arrive; note is
// shown below it. last says that the turn has ended.
func (s *Statuses) Kept(id, name, content, note string, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended[id] {
		return
	}
	if p := s.turn(id); p.step == p.keptStep {
		p.kept = append(p.kept, content)
	} else {
		p.keptStep = p.step
	}
	if last {
		delete(s.turns, id)
		s.ended[id] = true
	}
	s.feed.Kept(id, name, content, note, last)
}

// AwaitEnd waits until the bus has reported the end of a turn, and so everything before
// it, but no longer than ctx. It reports whether the end was received.
func (s *Statuses) AwaitEnd(ctx context.Context, id string) bool {
	s.mu.Lock()
	over := s.turn(id).over
	s.mu.Unlock()
	select {
	case <-over:
		return true
	default:
	}
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// Running takes the names of those at work, by turn, from a look at the store. A turn
// that is missing counts as left only if it was also missing from the previous look and
// the bus has reported nothing about it in between: one look may be older than a turn,
// or come between its end and its answer, and a turn that is over cannot be continued.
func (s *Statuses) Running(names map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.turns {
		switch {
		case names[id] != "":
			p.missed = false
		case !p.missed:
			p.missed = true
		case !p.left:
			p.left = true // what was received of it counts when its answer comes
			s.feed.Over(id)
		}
	}
	for id, name := range names {
		if p := s.turns[id]; (p == nil || p.left) && !s.ended[id] {
			s.again(id)
			s.feed.Busy(id, name, "thinking")
		}
	}
}
