package workflow

import (
	"encoding/json"
	"strconv"
)

// Discussion is the state of a chat that is a step.
type Discussion struct {
	Messages int    // since the topic
	From     string // author of the last message
	Last     string
	Quiet    bool // nobody has anything left to answer
}

// IsOver reports whether a discussion is over.
func (c ChatCall) IsOver(d Discussion) (bool, error) {
	if d.Quiet || d.Messages >= c.Max {
		return true, nil
	}
	if c.Until == "" {
		return false, nil
	}
	made, wrong := compileCondition(c.Until, TypeBoolean, scope{chat: true})
	if len(wrong) > 0 {
		return false, errorOf(wrong[0])
	}
	return made.truth(map[string]any{"messages": json.Number(strconv.Itoa(d.Messages)), "from": d.From, "last": d.Last})
}
