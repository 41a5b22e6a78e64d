package turn

import (
	"encoding/json"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
)

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of event, in the order in which a turn may send them.
const (
	Started     EventKind = "started"      // Model
	ModelChosen EventKind = "model"        // Model, Text, Round: with several models, the one that calls go to from now on, and why; no Text: it is the first
	Text        EventKind = "text"         // Text, Round: a piece of the answer, not yet committed
	Reasoning   EventKind = "reasoning"    // Text, Round
	Retrying    EventKind = "retrying"     // After, Text: why the provider is asked again
	Restarted   EventKind = "restarted"    // Round: what was streamed in this round is void
	ToolCalled  EventKind = "tool_call"    // Tool, Args, CallID, N
	ToolOutput  EventKind = "tool_output"  // Tool, CallID, N, Text: output as it comes
	ToolDone    EventKind = "tool_result"  // Tool, CallID, N, Result
	Committed   EventKind = "committed"    // Entries are in the store; Notified now have work
	Warning     EventKind = "warning"      // Text, for the person
	StorageBusy EventKind = "storage_busy" // Text: a result is held until the store takes it
	Compacted   EventKind = "compacted"    // Entries, Text
	Ended       EventKind = "ended"        // Outcome
)

// Event is something that happens during a turn.
type Event struct {
	Kind     EventKind
	Claimed  *store.Claimed // the request it belongs to; always set
	Model    string
	Round    int
	N        int
	Text     string
	Tool     string
	CallID   string
	Args     json.RawMessage
	Result   *tool.Result
	Entries  []fika.Entry
	Notified []fika.AgentName
	After    time.Duration
	Outcome  *Result
}

// Observer receives the events of a turn in order; calls do not overlap. It must not
// block for long, because the turn waits for it.
type Observer interface{ Observe(Event) }

// ObserverFunc adapts a function to an Observer.
type ObserverFunc func(Event)

// Observe calls f.
func (f ObserverFunc) Observe(e Event) { f(e) }

// Observers passes each event to all its observers, in order.
type Observers []Observer

// Observe calls each observer in order.
func (o Observers) Observe(e Event) {
	for _, x := range o {
		x.Observe(e)
	}
}

// Result is how a turn ended. State is terminal, or Open when the request was handed
// back, or Waiting when it is suspended.
type Result struct {
	State    fika.RequestState
	Reason   string
	Kind     fika.Kind // of the error, when the request failed
	Outcome  fika.Outcome
	Entries  []fika.Entry // committed with the outcome
	Notified []fika.AgentName
	Limited  string
	Children []store.Child // the children waited for, when suspended for them; to be woken
	Unsaved  bool          // the answer exists but could not be committed
}
