package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
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
	// forwarded past Limits.MaxDepth, nor when Echo is set.
	Notify []fika.AgentName
	// Echo says that the final text only repeats what the one it mentions and
	// this agent have been telling each other: the chain stops here.
	Echo bool
	// Limit is the limit of its chain that ends the turn before its answer, as
	// [Budgets.Exceeded] named it. Its notice is posted, once, and what the turn
	// was told of is dropped with the reason "limit".
	Limit string
	// To is whom the final entry addresses; empty: the conversation's usual.
	To     string
	Limits Limits
	// TTL is how long what the turn has written in a chat is kept from now on;
	// 0: for ever. All of it goes at once, so that no call is left without its
	// result.
	TTL time.Duration
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
	// Delegate gives planned tool steps a child task each, marks the steps
	// started and suspends the request until all children have an outcome: one
	// transaction. A child's id is its [ChildID]; it belongs to the chain of its
	// parent, one deeper, and its deadline is no later than the parent's. When
	// the signal says anything, nothing is written. A step is refused when its
	// agent is the request's own or one that waits for it, directly or not; it
	// stays planned, and if all are refused the request stays running.
	Delegate(context.Context, Fence, []Delegation) (Delegated, error)
	// Await reads the children of the started steps. While one has neither an
	// outcome nor passed its deadline by a few seconds, the request is suspended
	// again. One that has is told to stop and not waited for any longer.
	Await(context.Context, Fence) (Awaited, error)
	// Finish ends the request, once. Children it still has are cancelled,
	// unless it is done.
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

// Delegation is what a tool step gives another agent to do.
type Delegation struct {
	N        int // the planned step
	Agent    fika.AgentID
	Prompt   string
	Deadline time.Duration // from now; must be set
}

// Delegated tells what [Turns.Delegate] stored.
type Delegated struct {
	Signal   Signal
	Children []Child        // made, in the order of their steps; none: not suspended
	Refused  map[int]string // why, by step
}

// Awaited tells what became of children.
type Awaited struct {
	Children []Child // in the order of their steps; one that was deleted is missing
	Waiting  bool    // the request is suspended again
}

// Child is a request that a tool step of its parent made.
type Child struct {
	RequestInfo
	N int // the step
}

// ChildID is the id of the task that a tool step gives to another agent. It
// follows from the step, so that one step never has two children.
func ChildID(parent fika.RequestID, n int) fika.RequestID {
	sum := sha256.Sum256(fmt.Appendf(nil, "delegate\x00%s\x00%d", parent, n))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // a UUID of the version that is anybody's own
	return fika.RequestID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
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
	Budgets
	Watch
	Meta(context.Context) (Meta, error)
	Close() error
}
