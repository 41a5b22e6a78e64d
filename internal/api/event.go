package api

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Cursor is a place in the stream of events: opaque text for everyone but the store.
type Cursor string

// The cursors that need no earlier event.
const (
	FromNow    Cursor = ""
	FromOldest Cursor = "0" // the oldest event that is kept
)

// Scope says which events a watcher wants. Events that its principal may not see are
// left out.
type Scope struct {
	// An event that belongs to any of these is wanted; if all are empty, every event is.
	Conversations, Agents, Requests []string
	Tree                            bool        // with the descendants of Requests
	Content                         bool        // with the text of entries
	Deltas                          bool        // with live text between events
	Kinds                           []EventKind // empty: all
	Until                           bool        // end after the outcome of all Requests
}

// EventKind is what an event is about.
type EventKind string

// The kinds of committed events.
const (
	EntryEvent        EventKind = "entry"
	RequestEvent      EventKind = "request"
	StepEvent         EventKind = "step"
	ApprovalEvent     EventKind = "approval"
	PauseEvent        EventKind = "pause"
	AgentEvent        EventKind = "agent"
	ConversationEvent EventKind = "conversation"
	RunEvent          EventKind = "run"
	AccessEvent       EventKind = "access" // who may see what has changed
	TaskEvent         EventKind = "task"   // of the board: its number is seq
	InputEvent        EventKind = "input"  // a text that waits for a turn: queued, taken by it, withdrawn, posted
	OfferEvent        EventKind = "offer"  // to land work on a branch: its number is seq
	JobEvent          EventKind = "job"    // a background command: running, ended, killed, lost
)

// The kinds of events that are not stored.
const (
	MarkEvent  EventKind = "mark"  // a cursor only: nothing in the scope has happened up to it
	ResetEvent EventKind = "reset" // the cursor is unknown here: look again; ends the stream
	DeltaEvent EventKind = "delta" // live text, which may be lost
)

// Event is a committed fact, live text, or something about the stream itself. Applying
// one twice changes nothing.
type Event struct {
	N            int64     `json:"n,omitempty"`      // 0 if it is not stored
	Cursor       Cursor    `json:"cursor,omitempty"` // never of a delta
	At           time.Time `json:"at"`
	Kind         EventKind `json:"kind"`
	Conversation string    `json:"conversation,omitempty"` // name
	Request      string    `json:"request,omitempty"`
	Chain        string    `json:"chain,omitempty"`
	Agent        string    `json:"agent,omitempty"` // name
	Seq          int64     `json:"seq,omitempty"`   // of an entry; of a step, its n; of an approval, its number; of an input, that of its entry; of a job, its number
	State        string    `json:"state,omitempty"` // of the row after this commit
	// Data holds ids, codes and counts, at most [MaxEventData] bytes; never text, tool
	// arguments or output. A field that does not apply is left out:
	//
	//	entry        id, final (it is the answer), round, notify, more, and of a tool call or its result call_id, tool, ok
	//	request      kind, parent, retry_of, epoch, wait, cancel, error (a code), answer (seq), ms, usage
	//	step         kind, round, tool, call_id, ok, ms, usage, model
	//	approval     step, tool
	//	agent        epoch, desired
	//	conversation kind, removed
	//	run          run, cancel
	//	input        id
	//	access       person
	Data  json.RawMessage `json:"data,omitempty"`
	Entry *Entry          `json:"entry,omitempty"` // with Scope.Content; nil if it was removed since
	Delta *Delta          `json:"delta,omitempty"`
}

// Limits of what an event carries, in bytes.
const (
	MaxEventData  = 1 << 10
	MaxEventEntry = 64 << 10 // of Entry.Content; Entry.Cut counts the rest
)

// Entry is the text of an entry event. The answer of a request is its last entry of type
// message that is from the agent.
type Entry struct {
	ID      string          `json:"id"`
	From    string          `json:"from,omitempty"`
	To      string          `json:"to,omitempty"`
	Type    string          `json:"type"` // message tool_call tool_result compaction notice
	Content string          `json:"content"`
	ReplyTo string          `json:"reply_to,omitempty"` // of a tool's result: the id of its call
	CallID  string          `json:"call_id,omitempty"`  // of a tool call and its result, in events
	Cut     int             `json:"cut,omitempty"`      // bytes left out at the end of Content
	Meta    json.RawMessage `json:"meta,omitempty"`
}

// Delta is live text of Event.Request. It may be lost; the entry that follows counts, and no
// text of its round comes after it.
type Delta struct {
	Kind    DeltaKind `json:"kind"`
	Attempt int64     `json:"attempt"` // an older one than seen is thrown away
	Round   int       `json:"round"`   // of model calls in the request, from 1; 0: it belongs to none
	CallID  string    `json:"call_id,omitempty"`
	Offset  int       `json:"offset"` // bytes of this kind in this round, or call, before Text
	Text    string    `json:"text"`
	Restart bool      `json:"restart,omitempty"` // what was shown of this round is void
}

// DeltaKind is the sort of live text.
type DeltaKind string

// The kinds of live text.
const (
	TextDelta      DeltaKind = "text"
	ReasoningDelta DeltaKind = "reasoning"
	OutputDelta    DeltaKind = "output" // of a running tool
	TypingDelta    DeltaKind = "typing"
	NoteDelta      DeltaKind = "note"
)

// Watcher is the part of the service that every door needs.
type Watcher interface {
	// Look returns how the things of a scope stand, and a cursor that was confirmed
	// before they were read: watching from it misses nothing.
	Look(context.Context, Scope) (State, Cursor, error)
	// Watch yields events by number, with live text between them; first of all a mark
	// that says where it begins. A slow reader loses
	// live text first, never an event. A reset is the last event of a stream. The
	// stream ends with ctx, without an error; after an error it yields nothing more.
	Watch(context.Context, Scope, Cursor) iter.Seq2[Event, error]
}
