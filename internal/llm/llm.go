package llm

import (
	"context"
	"encoding/json"
	"time"

	"fika"
)

// Model answers requests. One Model may serve many calls at once.
type Model interface {
	// Generate makes one model call. emit is called in order, from the calling
	// goroutine, with what arrives; an error from emit ends the call with that
	// error. The Response is complete: it alone is truth. Errors are
	// *fika.Error of kind Provider (with a [*ProviderError] cause where the
	// provider answered), Interrupted when ctx ended, or Invalid for settings.
	Generate(ctx context.Context, r Request, emit func(Event) error) (Response, error)
}

// Role says who speaks in a [Message].
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
	System    Role = "system" // what the program tells the model in the middle of a conversation
)

// Request is one model call.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	Reasoning *Reasoning // nil: as the model does by default
	MaxTokens int64      // of the answer; 0: the provider's default (Anthropic: 8192)
}

// Message is one message of the window. An assistant message may carry text
// and calls; a tool message answers one call.
type Message struct {
	Role    Role
	Text    string
	Images  []Image // of a user message, beside its text
	Calls   []Call
	CallID  string          // of a tool message
	IsError bool            // of a tool message
	Blob    json.RawMessage // the raw message that this provider and model made; sent back as it was
	// Passing marks what the next call may not have, or not in this place: no
	// provider is asked to cache it or what comes after it.
	Passing bool
}

// Image is a picture that a model is shown. A provider that cannot show it says so
// in its answer.
type Image struct {
	MIME string // image/png, image/jpeg, image/gif, image/webp
	Data []byte
}

// Call is a tool call. Args is the text the model wrote, not yet checked.
type Call struct {
	ID   string
	Name string
	Args string
}

// Tool is what the model is told of a tool.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
	// Kept says that Parameters were read, and written without white space, when
	// they were kept: they are sent as they are.
	Kept bool
}

// Reasoning asks for reasoning tokens; at most one of the two is set. A
// provider package turns it into the nearest thing that the model accepts.
type Reasoning struct {
	Effort    string // "none", "minimal", "low", "medium", "high", "xhigh", "max"
	MaxTokens int64
}

// EventKind says what an [Event] carries.
type EventKind string

// The event kinds.
const (
	TextDelta      EventKind = "text"
	ReasoningDelta EventKind = "reasoning"
	Retrying       EventKind = "retrying"  // waiting After, because Reason
	Restarted      EventKind = "restarted" // what was streamed so far is void
	Alive          EventKind = "alive"     // something arrived that has no text (tool arguments, a keep-alive); may be ignored
)

// Event is something that happened during a call.
type Event struct {
	Kind   EventKind
	Text   string
	After  time.Duration
	Reason string
}

// Response is a finished call. Calls whose arguments were cut off are
// reported with Truncated, never executed.
type Response struct {
	Text      string
	Reasoning string
	Calls     []Call
	Usage     fika.Usage // Cost 0 unless the provider states it
	Blob      json.RawMessage
	Truncated bool   // the provider stopped at its output limit
	Refusal   string // the provider declined, with its words
}

// ProviderError is an answer of a provider that is not a success.
type ProviderError struct {
	Status     int           // HTTP status; 0: no answer (connection, stalled stream)
	Message    string        // the provider's words, secrets removed
	RetryAfter time.Duration // as the provider asked; 0: it did not
	Visible    bool          // output was already emitted
}

func (e *ProviderError) Error() string { return e.Message }

// Retryable reports whether the same call may succeed later: no answer, 408,
// 409, 429 and 5xx.
func (e *ProviderError) Retryable() bool {
	switch {
	case e.Status == 0, e.Status == 408, e.Status == 409, e.Status == 429, e.Status >= 500:
		return true
	}
	return false
}
