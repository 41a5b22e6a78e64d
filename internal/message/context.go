package message

import (
	"encoding/json"

	"fika"
)

// The message types of reading another's context.
const (
	TypeContextRequest  = "context_request"
	TypeContextResponse = "context_response"
)

// ContextRequest asks what an agent has said and done. Who asks is not in it:
// the connection tells.
type ContextRequest struct {
	Type      string `json:"type"`
	RequestID string `json:"requestId,omitempty"` // given back
	Last      int    `json:"last,omitempty"`      // how many messages, and of results at most; 0: 10
	Find      string `json:"find,omitempty"`      // only what has these words
	V         int    `json:"v,omitempty"`
}

// ContextResponse answers a [ContextRequest]: with Error, or with what there is.
type ContextResponse struct {
	Type      string        `json:"type"`
	RequestID string        `json:"requestId,omitempty"`
	AgentName string        `json:"agentName"`
	Messages  []ContextPart `json:"messages"` // of the ongoing conversation, or what was found; oldest first
	Tasks     []ContextTask `json:"tasks"`    // that were done, oldest first
	Truncated bool          `json:"truncated,omitempty"`
	Error     string        `json:"error,omitempty"`
	ErrorKind string        `json:"errorKind,omitempty"` // denied, not_found, invalid …
	Timestamp string        `json:"timestamp"`
	V         int           `json:"v,omitempty"`
}

// ContextPart is something that was said.
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

// maxContext is how many messages one request may ask for.
const maxContext = 200

// ParseContextRequest reads and checks a context_request; an empty body is one.
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

// EncodeWithin encodes the response so that it has at most limit bytes: what is oldest is
// left out first, and Truncated says so.
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
