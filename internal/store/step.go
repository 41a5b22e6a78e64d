package store

import (
	"encoding/json"
	"time"

	"fika"
	"fika/internal/limit"
)

// Fence is the right to write for one running request. Every method of
// [Turns] checks it in the transaction it writes in: Lost when the request is
// another owner's, or no longer running.
type Fence struct {
	Request fika.RequestID
	Agent   fika.AgentID
	Epoch   fika.Epoch
	Lease   LeaseID
}

// Signal is what a person asked for since the turn last looked.
type Signal struct {
	Cancel   bool
	Reason   string
	Paused   bool // the conversation, or everything; never for a foreground request
	Deadline bool // the request's deadline has passed
}

// ModelCommit is the outcome of one model call.
type ModelCommit struct {
	Round     int
	Text      string
	Reasoning string
	Blob      json.RawMessage // what the engine wants to see again when it builds later calls
	Calls     []PlannedCall
	Usage     fika.Usage
	Model     string
	Choice    string // why it was that one of several models; empty: it is the first
	StartedAt time.Time
	Taint     fika.Taint // of what the model was shown
	// Passes are what the turn may cause others to do at most from now on; nil:
	// as before.
	Passes *fika.Rights
}

// PlannedCall is a tool call the model asked for.
type PlannedCall struct {
	CallID   string
	Tool     string
	Args     string // as the model wrote them
	ArgsHash string
	Effect   fika.Effect
}

// ToolCommit is the result of one tool call.
type ToolCommit struct {
	Text        string
	IsError     bool
	Interrupted bool // the step ends interrupted: it may or may not have run
	PostHash    string
	Taint       fika.Taint
	Executed    bool   // an executor ran it: what it left is taken with this
	Sandbox     string // how its processes were confined; empty: there were none, or nothing confined them
}

// Planned is what [Turns.CommitModel] stored.
type Planned struct {
	Entries []fika.Entry
	Steps   []fika.Step // the planned tool steps, in the model's order
	Booked  []limit.Booked
}
