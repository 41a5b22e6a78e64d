package agent

import (
	"encoding/json"
	"sync"
	"unicode/utf8"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
)

// live is what the turns of a process are streaming now, for those who begin to listen
// in the middle of it. The zero value holds nothing. It is safe for concurrent use.
type live struct {
	mu    sync.Mutex
	turns map[fika.RequestID]*streamed
	last  fika.RequestID // the turn that streamed last
}

// streamed is the text of a turn's round that has been published.
type streamed struct {
	message.Live        // without Text
	text         []byte // at most twice [message.MaxLive]
}

// note records a status that is about to be published.
func (l *live) note(id fika.RequestID, d message.StatusData) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.turns[id]
	if s == nil {
		s = &streamed{Live: message.Live{Request: string(id), Epoch: d.Epoch}}
		if l.turns == nil {
			l.turns = map[fika.RequestID]*streamed{}
		}
		l.turns[id] = s
	}
	switch {
	case d.Restart, d.Round > s.Round:
		s.Round, s.Offset, s.CallID, s.text = d.Round, 0, "", nil
	}
	switch {
	case d.Chunk != "" && !d.Reasoning:
		l.last = id
		s.text = append(s.text, d.Chunk...)
		s.trim(2 * message.MaxLive)
	case d.CallID != "" && d.Success == nil:
		l.last, s.CallID = id, d.CallID
	case d.CallID == s.CallID:
		s.CallID = ""
	}
}

// trim keeps the newest [message.MaxLive] bytes, if there are more than most, and cuts no
// character in half.
func (s *streamed) trim(most int) {
	if len(s.text) <= most {
		return
	}
	n := len(s.text) - message.MaxLive
	for n < len(s.text) && !utf8.RuneStart(s.text[n]) {
		n++
	}
	s.text, s.Offset = append([]byte(nil), s.text[n:]...), s.Offset+n
}

// end forgets a turn.
func (l *live) end(id fika.RequestID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.turns, id)
}

// answer says what is being streamed: {} if nothing is.
func (l *live) answer(m bus.Msg) {
	var q message.LiveRequest
	_ = json.Unmarshal(m.Data, &q) // without a body, or with one that cannot be read, the turn that streamed last
	data := []byte("{}")
	if s, ok := l.of(fika.RequestID(q.Request)); ok {
		if body, err := json.Marshal(s); err == nil {
			data = body
		}
	}
	_ = m.Respond(data)
}

func (l *live) of(id fika.RequestID) (message.Live, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == "" {
		id = l.last
	}
	s := l.turns[id]
	if s == nil {
		return message.Live{}, false
	}
	s.trim(message.MaxLive)
	out := s.Live
	out.Text = string(s.text)
	return out, true
}
