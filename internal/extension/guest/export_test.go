package guest

import (
	"encoding/json"

	"fika/internal/extension/acp"
	"fika/internal/turn"
)

// EventOf returns what one update tells.
func EventOf(raw []byte) (turn.GuestEvent, bool) {
	var u acp.Update
	if json.Unmarshal(raw, &u) != nil {
		return turn.GuestEvent{}, false
	}
	return newCalls(nil).event(u)
}

// EventsAfter returns how many of some updates tell something in a turn after the one with the
// first.
func EventsAfter(first string, then ...string) (n int) {
	c := newCalls(nil)
	for i, text := range append([]string{first}, then...) {
		var u acp.Update
		if json.Unmarshal([]byte(text), &u) != nil {
			return -1
		}
		if i == 1 {
			c.turn()
		}
		if _, ok := c.event(u); ok && i > 0 {
			n++
		}
	}
	return n
}

// EndOf is closed when the program of a session has ended.
func EndOf(s *Session) <-chan struct{} { return s.peer.Ended() }

// Kill ends the program of a session.
func Kill(s *Session) { s.peer.Kill() }

// TokenOf returns what a connection to a table begins with.
func TokenOf(t *Table) string { return t.token }
