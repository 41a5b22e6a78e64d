package store

import (
	"context"
	"encoding/json"
	"time"

	"fika"
)

// Fence is the right to write for one running request. Every method of
// [Turns] checks it in the transaction it writes in: Lost when the request is
// another owner's, or no longer running.
type Fence struct {
	Request fika.RequestID
	Agent   fika.AgentID
	Epoch   fika.Epoch
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
	Blob      json.RawMessage // the provider's raw message
	Calls     []PlannedCall
	Usage     fika.Usage
	Model     string
	StartedAt time.Time
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
}

// Finish ends a request.
type Finish struct {
	State  fika.RequestState // one of the terminal ones
	Reason string
	// Final is the model call that made the final text; its entry, step and
	// usage are committed with the outcome. Nil when there is none.
	Final *ModelCommit
	// Notify are the agents mentioned in the final text (chats only); not
	// forwarded past Limits.MaxDepth.
	Notify []fika.AgentName
	// To is whom the final entry addresses; empty: the conversation's usual.
	To     string
	Limits Limits
	// Notice, if not empty, is posted as a notice entry (failed turns).
	Notice    string
	Outcome   fika.Outcome
	ErrorKind fika.Kind
}

// Finished tells what [Turns.Finish] committed.
type Finished struct {
	Request  fika.Request
	Entries  []fika.Entry     // the final entry and notices, in order
	Notified []fika.AgentName // to be rung
	Limited  string           // the limit that stopped forwarding, if one did
}

// Turns is the only way to write steps, results and outcomes.
type Turns interface {
	// Signal reads cancel, pause and deadline; it writes nothing.
	Signal(context.Context, Fence) (Signal, error)
	// Steps reads the steps of the request so far, by N.
	Steps(context.Context, fika.RequestID) ([]fika.Step, error)
	// CommitModel stores a model call that asked for tools: the assistant
	// entry (if it has text or reasoning), one tool_call entry and one planned
	// step per call, usage; one transaction. The model step's Entry is the
	// first of the entries. [Turns.Finish] does the same for a final text.
	CommitModel(context.Context, Fence, ModelCommit) (Planned, error)
	// BeginTool marks a planned (or repeatable started) step started, before
	// anything runs, and reads the signal in the same transaction. When the
	// signal says anything, the step stays planned.
	BeginTool(ctx context.Context, f Fence, n int, preHash string) (Signal, error)
	// RecordProcess stores the process a started step runs in.
	RecordProcess(ctx context.Context, f Fence, n int, p fika.Process) error
	// CommitTool stores the tool_result entry and ends the step.
	CommitTool(ctx context.Context, f Fence, n int, c ToolCommit) (fika.Entry, error)
	// CommitCompaction stores a compaction entry and its step within a turn.
	CommitCompaction(ctx context.Context, f Fence, round int, content string, m fika.EntryMeta, u fika.Usage, model string) (fika.Entry, error)
	// Finish ends the request, once.
	Finish(context.Context, Fence, Finish) (Finished, error)
	// Suspend makes the request waiting. It is claimable again when the reason
	// is over.
	Suspend(ctx context.Context, f Fence, reason fika.WaitReason, until time.Time) error
	// HandBack makes it open again and gives its attempt back.
	HandBack(context.Context, Fence) error
}

// Planned is what [Turns.CommitModel] stored.
type Planned struct {
	Entries []fika.Entry
	Steps   []fika.Step // the planned tool steps, in the model's order
}

// Send is a message from one context to another ([Peers]).
type Send struct {
	To         fika.AgentID
	ID         fika.EntryID // empty: made; a repeat changes nothing
	From       string
	Writer     fika.Writer
	WriterName string
	Content    string
	At         time.Time // zero: now
	Chain      fika.RequestID
	Depth      int
}

// Peers delivers messages between contexts.
type Peers interface {
	// Deliver puts a message with a notification into the recipient's active
	// ask conversation: that is all an inbox is.
	Deliver(context.Context, Send) (Posted, error)
}

// UsageRow is a line of the usage report.
type UsageRow struct {
	Agent    fika.AgentName
	Model    string
	Requests int
	Usage    fika.Usage
}

// Ledger reads what was spent.
type Ledger interface {
	UsageSince(context.Context, time.Time) ([]UsageRow, error)
	Chain(context.Context, fika.RequestID) (fika.Chain, error)
}

// Meta is what a store knows of itself.
type Meta struct {
	StoreID string
	Schema  int64
	Engine  string // "sqlite 3.54.1"
	Path    string // file or URL without secrets
}

// Store is everything; consumers ask for the small interfaces.
type Store interface {
	Agents
	Leases
	Conversations
	Entries
	Brakes
	Queue
	Wishes
	Turns
	Peers
	Ledger
	Meta(context.Context) (Meta, error)
	Close() error
}
