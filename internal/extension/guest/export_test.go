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

// TokenOf returns what a connection to a table begins with.
func TokenOf(t *Table) string { return t.token }
