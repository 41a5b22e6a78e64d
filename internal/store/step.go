package store

import (
	"encoding/json"
	"time"

	"fika"
	"fika/internal/rights/limit"
)

// Fence is the right to write for one running request. Every method of [Turns] that
// takes one checks it in the transaction that writes, and fails with Lost if the
// request belongs to another owner or is no longer running.
type Fence struct {
	Request fika.RequestID
	Agent   fika.AgentID
	Epoch   fika.Epoch
	Lease   LeaseID
}

// Signal is what a turn has been asked to do: nothing if it is zero.
type Signal struct {
	Cancel   bool
	Reason   string
	Paused   bool // the conversation, its run, or everything; never for a foreground request
	Deadline bool // the request's deadline has passed
	Inputs   bool // texts wait for [Turns.TakeInputs]; only [Turns.Signal] says so
	// Mode is what bounds the turn now; only [Turns.Signal] says it and, with Moved, the
	// beginning of a tool call: then the mode is not that under which the call was judged,
	// and the call has not begun.
	Mode  fika.Mode
	Moved bool
}

// ModelCommit is the result of one model call.
type ModelCommit struct {
	Round     int
	Text      string
	Reasoning string
	Blob      json.RawMessage // what the engine needs to see again when it builds later calls
	Calls     []PlannedCall
	Usage     fika.Usage
	Model     string
	Choice    string // why this one of several models was chosen; empty: it is the first
	StartedAt time.Time
	Plan      bool       // of a final text: it ends with a plan, which counts in plan mode
	Taint     fika.Taint // of the text that the model was shown
	// Passes bounds what the turn may cause others to do from now on; nil: unchanged.
	Passes *fika.Rights
}

// Spent is a model call that came to nothing.
type Spent struct {
	Round     int
	Kind      fika.StepKind // FailedStep, or CompactionStep
	Model     string
	Why       string     // it failed, in one line
	Usage     fika.Usage // as far as the provider reported it; may be zero
	StartedAt time.Time
	Notice    string // posted with it; may be empty
}

// PlannedCall is a tool call that the model asked for.
type PlannedCall struct {
	CallID   string
	Tool     string
	Args     string // as the model wrote them
	ArgsHash string
	Effect   fika.Effect
	Origin   string // what made the call, if not a model of fika's
}

// ToolCommit is the result of one tool call.
type ToolCommit struct {
	Text        string
	IsError     bool
	Interrupted bool // the step ends as interrupted: it may or may not have run
	PostHash    string
	Taint       fika.Taint
	Origin      string // as that of the call
	Executed    bool   // an executor ran it; its row is deleted with this commit
	Sandbox     string // how its processes were confined; empty: there were none, or they were not confined
	Attachments []fika.Attachment
}

// Planned reports what [Turns.CommitModel] stored.
type Planned struct {
	Entries []fika.Entry
	Steps   []fika.Step // the planned tool steps, in the model's order
	Booked  []limit.Booked
}
