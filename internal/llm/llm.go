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
	// is complete, and it alone is the truth; with an error it holds only the usage that was
	// reported until then. Errors are *fika.Error of kind Provider
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
	MaxTokens int64      // of the answer; 0: as many as the model can write, or the provider's default
	// Schema is the JSON Schema of an object that the answer has to be; nil: text. Where a
	// provider has a mode for it the answer is held to it, elsewhere nothing is promised.
	Schema json.RawMessage
	// Trace is the value of the header traceparent, where a call is one of HTTP; empty: none
	// is sent.
	Trace string
}

// Message is one message of the window. An assistant message may carry text
// and calls; a tool message answers one call.
type Message struct {
	Role    Role
	Text    string
	Images  []Image // of a user or tool message, besides its text
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

// Image is a picture or a PDF document that a model is shown. A provider that cannot show
// it says so in its answer.
type Image struct {
	MIME string // image/png, image/jpeg, image/gif, image/webp, application/pdf
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
	Alive          EventKind = "alive"     // something without text arrived (tool arguments, a signature), Size bytes of it are kept; may be ignored
	KeepAlive      EventKind = "keepalive" // the provider only says that it is still there; may be ignored
)

// Event is something that happened during a call.
type Event struct {
	Kind   EventKind
	Text   string
	Size   int
	After  time.Duration
	Reason string
}

// Stop says why an answer ended. Only an answer that ended with [StopEnd] is whole.
type Stop string

// The stops, in the order of the table in docs/internals/failures.md.
const (
	StopEnd     Stop = ""               // the model was finished, or waits for the results of its calls
	StopLength  Stop = "max_tokens"     // cut off at the output limit; of calls, only the last can be cut
	StopWindow  Stop = "context_window" // prompt and answer together have filled the context window
	StopRefusal Stop = "refusal"        // the model declined, in the words of StopText
	StopFilter  Stop = "content_filter" // the provider's filter ended the answer
	StopPause   Stop = "pause"          // the provider wants to be called again with what it has said
	StopBadCall Stop = "malformed_call" // the model wrote a call that the provider could not read
	StopFlood   Stop = "too_many_calls" // more calls than an answer may make; none is in Calls
	StopUnknown Stop = "unknown"        // for a reason that is not known here, named in StopText
)

// Response is a finished call. Calls may be executed only if Stop is [StopEnd] or
// [StopLength], and then not the last of those that were cut off.
type Response struct {
	Text      string
	Reasoning string
	Calls     []Call
	Usage     fika.Usage // Cost is 0 unless the provider states it
	Wasted    fika.Usage // of attempts at this call that failed, as far as the provider reported it
	Blob      json.RawMessage
	Stop      Stop
	StopText  string // the provider's words about Stop; may be empty
	MaxTokens int64  // the output limit that the call was made with; 0: the provider's own
	RequestID string // the provider's name for the call; empty: it gave none
}

// ProviderError is a provider's answer that is not a success, or the lack of one.
type ProviderError struct {
	Status     int           // HTTP status; 0: no answer (connection, stalled stream)
	Code       string        // the provider's word for the error, as in "insufficient_quota"; may be empty
	Message    string        // the provider's words, secrets removed
	RetryAfter time.Duration // as requested by the provider; 0: not requested
	Visible    bool          // output was already emitted
	RequestID  string        // the provider's name for the call; empty: it gave none
}

// Error returns the provider's words, and its name for the call.
func (e *ProviderError) Error() string {
	if e.RequestID == "" {
		return e.Message
	}
	return e.Message + " (the provider's request " + e.RequestID + ")"
}

// Retryable reports whether the same call may succeed later: after no answer, 408, 409,
// 429 or 5xx, unless the provider says that the account itself cannot pay.
func (e *ProviderError) Retryable() bool {
	switch e.Code {
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated", "exceeded_current_quota_error", "billing_error":
		return false
	}
	switch {
	case e.Status == 0, e.Status == 408, e.Status == 409, e.Status == 429, e.Status >= 500:
		return true
	}
	return false
}
