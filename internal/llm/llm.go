package llm

import (
	"context"
	"encoding/json"
	"time"

	"fika"
)

// Model answers requests. It is safe for concurrent use.
type Model interface {
	// Generate makes one model call. It calls emit in order, from the calling goroutine,
	// with what arrives; an error from emit ends the call with that error. The Response
	// is complete, and it alone is the truth. Errors are *fika.Error of kind Provider
	// (with a [*ProviderError] cause if the provider answered), Interrupted if ctx
	// ended, or Invalid for wrong settings.
	Generate(ctx context.Context, r Request, emit func(Event) error) (Response, error)
}

// Role is the speaker of a [Message].
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
	System    Role = "system" // the program, speaking to the model in the middle of a conversation
)

// Request is one model call.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	Reasoning *Reasoning // nil: the model's default
	MaxTokens int64      // of the answer; 0: the provider's default (Anthropic: 8192)
}

// Message is one message of the window. An assistant message may carry text
// and calls; a tool message answers one call.
type Message struct {
	Role    Role
	Text    string
	Images  []Image // of a user message, besides its text
	Calls   []Call
	CallID  string // of a tool message
	IsError bool   // of a tool message
	// Blob is the raw message as this provider and model made it. It is sent back
	// unchanged if it holds Calls and no others, and else not at all.
	Blob json.RawMessage
	// Passing marks a message that may be missing or elsewhere in the next call:
	// providers are not asked to cache it or anything after it.
	Passing bool
}

// Image is a picture that a model is shown. A provider that cannot show it says so in
// its answer.
type Image struct {
	MIME string // image/png, image/jpeg, image/gif, image/webp
	Data []byte
}

// Call is a tool call. Args is the text that the model wrote, not yet validated.
type Call struct {
	ID   string
	Name string
	Args string
}

// Tool describes a tool to a model.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
	// Kept says that Parameters were parsed and written without white space when they
	// were kept; they are sent as they are.
	Kept bool
}

// Reasoning asks for reasoning tokens; at most one of the two fields is set. Provider
// packages translate it to the nearest setting that the model accepts.
type Reasoning struct {
	Effort    string // "none", "minimal", "low", "medium", "high", "xhigh", "max"
	MaxTokens int64
}

// EventKind is the kind of an [Event].
type EventKind string

// The event kinds.
const (
	TextDelta      EventKind = "text"
	ReasoningDelta EventKind = "reasoning"
	Retrying       EventKind = "retrying"  // waiting for After, because of Reason
	Restarted      EventKind = "restarted" // everything streamed so far is void
	Alive          EventKind = "alive"     // something without text arrived (tool arguments, a keep-alive); may be ignored
)

// Event is something that happened during a call.
type Event struct {
	Kind   EventKind
	Text   string
	After  time.Duration
	Reason string
}

// Response is a finished call. If the arguments of a call were cut off, Truncated is
// set, and the call must not be executed.
type Response struct {
	Text      string
	Reasoning string
	Calls     []Call
	Usage     fika.Usage // Cost is 0 unless the provider states it
	Blob      json.RawMessage
	Truncated bool   // the provider stopped at its output limit
	Refusal   string // the provider declined, in these words
}

// ProviderError is a provider's answer that is not a success, or the lack of one.
type ProviderError struct {
	Status     int           // HTTP status; 0: no answer (connection, stalled stream)
	Message    string        // the provider's words, secrets removed
	RetryAfter time.Duration // as requested by the provider; 0: not requested
	Visible    bool          // output was already emitted
}

func (e *ProviderError) Error() string { return e.Message }

// Retryable reports whether the same call may succeed later: after no answer, 408, 409,
// 429 or 5xx.
func (e *ProviderError) Retryable() bool {
	switch {
	case e.Status == 0, e.Status == 408, e.Status == 409, e.Status == 429, e.Status >= 500:
		return true
	}
	return false
}
