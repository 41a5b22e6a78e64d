package message

import (
	"encoding/json"

	"fika"
)

// The types of the messages with which one agent reads another's context.
const (
	TypeContextRequest  = "context_request"
	TypeContextResponse = "context_response"
)

// ContextRequest asks for what an agent has said and done. It does not name the
// caller: the connection identifies it.
type ContextRequest struct {
	Type      string `json:"type"`
	RequestID string `json:"requestId,omitempty"` // returned in the response
	Last      int    `json:"last,omitempty"`      // the most messages, and tasks, to return; 0: 10
	Find      string `json:"find,omitempty"`      // only items with these words
	V         int    `json:"v,omitempty"`
}

// ContextResponse answers a [ContextRequest]: with Error, or with the content.
type ContextResponse struct {
	Type      string        `json:"type"`
	RequestID string        `json:"requestId,omitempty"`
	AgentName string        `json:"agentName"`
	Messages  []ContextPart `json:"messages"` // of the ongoing conversation, or those found; oldest first
	Tasks     []ContextTask `json:"tasks"`    // finished tasks, oldest first
	Truncated bool          `json:"truncated,omitempty"`
	Error     string        `json:"error,omitempty"`
	ErrorKind string        `json:"errorKind,omitempty"` // denied, not_found, invalid …
	Timestamp string        `json:"timestamp"`
	V         int           `json:"v,omitempty"`
}

// ContextPart is one message.
type ContextPart struct {
	From           string `json:"from"`
	Content        string `json:"content"`
	ConversationID string `json:"conversationId"`
	Timestamp      string `json:"timestamp"`
}

// ContextTask is a task with its result.
type ContextTask struct {
	RequestID      string `json:"requestId"`
	From           string `json:"from"`
	Prompt         string `json:"prompt"`
	Content        string `json:"content"`
	ConversationID string `json:"conversationId"`
	Timestamp      string `json:"timestamp"`
}

// maxContext is the most messages that one request may ask for.
const maxContext = 200

// ParseContextRequest reads and checks a context_request; an empty body is valid.
// Error kind: Invalid.
func ParseContextRequest(data []byte) (ContextRequest, error) {
	r := ContextRequest{Type: TypeContextRequest}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &r); err != nil {
			return r, fika.Errorf(fika.Invalid, "context request", "not the JSON of a context_request: %s", shorten(err.Error()))
		}
	}
	switch {
	case r.Type != "" && r.Type != TypeContextRequest:
		return r, fika.Errorf(fika.Invalid, "context request", "type is %.40q; expected context_request", r.Type)
	case r.V < 0 || r.V > Version:
		return r, fika.Errorf(fika.Invalid, "context request", "version %d is not known here; this fika speaks version %d", r.V, Version)
	case r.Last < 0 || r.Last > maxContext:
		return r, fika.Errorf(fika.Invalid, "context request", "last is %d; it goes from 1 to %d", r.Last, maxContext)
	}
	if r.Last == 0 {
		r.Last = 10
	}
	return r, nil
}

// EncodeWithin encodes the response in at most limit bytes: it leaves out the oldest
// items first and then sets Truncated. A response without items may be longer.
func (r ContextResponse) EncodeWithin(limit int) ([]byte, error) {
	for {
		data, err := json.Marshal(r)
		if err != nil || len(data) <= limit || len(r.Messages)+len(r.Tasks) == 0 {
			return data, err
		}
		r.Truncated = true
		if len(r.Messages) >= len(r.Tasks) {
			r.Messages = r.Messages[1:]
		} else {
			r.Tasks = r.Tasks[1:]
		}
	}
}
