package turn

import (
	"encoding/json"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
)

// EventKind says what an [Event] tells.
type EventKind string

// The kinds of event, in the order in which a turn may send them.
const (
	Started     EventKind = "started"      // Model
	ModelChosen EventKind = "model"        // Model, Text, Round: of several, the one that calls go to from now on, and why; no reason: it is the first
	Text        EventKind = "text"         // Text, Round: a piece of the answer, not yet committed
	Reasoning   EventKind = "reasoning"    // Text, Round
	Retrying    EventKind = "retrying"     // After, Text: why the provider is asked again
	Restarted   EventKind = "restarted"    // Round: what was streamed in it is void
	ToolCalled  EventKind = "tool_call"    // Tool, Args, CallID, N
	ToolOutput  EventKind = "tool_output"  // Tool, CallID, N, Text: output as it comes
	ToolDone    EventKind = "tool_result"  // Tool, CallID, N, Result
	Committed   EventKind = "committed"    // Entries are in the store; Notified have work now
	Warning     EventKind = "warning"      // Text for the person
	StorageBusy EventKind = "storage_busy" // Text: a result is held until the store takes it
	Compacted   EventKind = "compacted"    // Entries, Text
	Ended       EventKind = "ended"        // Result
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

// Observer is told what happens, in order; calls do not overlap. It must not
// block for long: the turn waits.
type Observer interface{ Observe(Event) }

// ObserverFunc is an Observer made of a function.
type ObserverFunc func(Event)

// Observe calls f.
func (f ObserverFunc) Observe(e Event) { f(e) }

// Observers tells each in order.
type Observers []Observer

// Observe tells each in order.
func (o Observers) Observe(e Event) {
	for _, x := range o {
		x.Observe(e)
	}
}

// Result is how a turn ended. State is a terminal state, or Open when the
// request was handed back, or Waiting when it is suspended.
type Result struct {
	State    fika.RequestState
	Reason   string
	Kind     fika.Kind // of the error, when failed
	Outcome  fika.Outcome
	Entries  []fika.Entry // committed with the outcome
	Notified []fika.AgentName
	Limited  string
	Children []store.Child // who is waited for, when suspended for that; to be woken
	Unsaved  bool          // the answer exists but could not be committed
}
