package fika

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// RequestID identifies a request; for a foreign request it is the sender's requestId.
type RequestID string

// RequestKind says how a request came to be.
type RequestKind string

// The kinds of request.
const (
	RunRequest    RequestKind = "run"    // a one-shot prompt in a context
	AskRequest    RequestKind = "ask"    // continues the agent's ongoing conversation
	TaskRequest   RequestKind = "task"   // a fresh, isolated conversation
	NotifyRequest RequestKind = "notify" // a batch of notifications of one conversation
	// WorkflowRequest stands for a run of a workflow: no agent claims it, and its
	// outcome is that of the run.
	WorkflowRequest RequestKind = "workflow"
)

// Origin says whether a request may be resumed without anybody asking for it.
type Origin string

// The origins.
const (
	Foreground Origin = "foreground" // a person waits at a terminal; never resumed by itself
	Queued     Origin = "queued"
)

// RequestState is the state of a request. The last five never change.
type RequestState string

// The request states.
const (
	Open             RequestState = "open"
	Running          RequestState = "running"
	Waiting          RequestState = "waiting" // for a reason, with a deadline, holding no goroutine
	Done             RequestState = "done"
	RequestFailed    RequestState = "failed"
	Cancelled        RequestState = "cancelled"
	StateInterrupted RequestState = "interrupted"
	Dead             RequestState = "dead"
)

// RequestStates returns all states, those of unfinished requests first.
func RequestStates() []RequestState {
	return append(UnfinishedStates(), EndedStates()...)
}

// UnfinishedStates returns the states of requests that have not ended.
func UnfinishedStates() []RequestState { return []RequestState{Open, Running, Waiting} }

// EndedStates returns the states of requests that have ended.
func EndedStates() []RequestState {
	return []RequestState{Done, RequestFailed, Cancelled, StateInterrupted, Dead}
}

// Terminal reports whether s is the state of a request that has ended.
func (s RequestState) Terminal() bool { return slices.Contains(EndedStates(), s) }

// WaitReason says what a waiting request waits for.
type WaitReason string

// The reasons for waiting.
const (
	WaitPause    WaitReason = "pause"
	WaitApproval WaitReason = "approval"
	WaitChild    WaitReason = "child"
	WaitLimit    WaitReason = "limit"    // the agent's hour is used up
	WaitProvider WaitReason = "provider" // the model's provider fails for now
	WaitBoard    WaitReason = "board"    // for tasks of the board
	WaitBackup   WaitReason = "backup"   // the model's provider fails for good, and a backup may take over
)

// Payload is what the asker sent with a request. It is stored as JSON until the claim
// turns it into an entry, and kept after that.
type Payload struct {
	Prompt      string          `json:"prompt,omitempty"`
	From        string          `json:"from,omitempty"`        // display name of the asker
	Writer      Writer          `json:"writer,omitempty"`      // what kind of writer the asker is
	Model       string          `json:"model,omitempty"`       // id or nickname, for this request only
	Workspace   string          `json:"workspace,omitempty"`   // the asker's working folder
	History     []HistoryEntry  `json:"history,omitempty"`     // initial messages for an unknown conversation
	Sender      string          `json:"sender,omitempty"`      // metadata.sender of a foreign request
	Continue    bool            `json:"continue,omitempty"`    // go on without a new prompt
	Deadline    int64           `json:"deadline,omitempty"`    // Unix milliseconds; 0: none
	Extra       json.RawMessage `json:"extra,omitempty"`       // per-invocation settings, opaque to the store
	Background  bool            `json:"background,omitempty"`  // nobody waits for the answer
	Attachments []Attachment    `json:"attachments,omitempty"` // pictures of the prompt, which its text describes
	Attempt     int             `json:"attempt,omitempty"`     // attempt at the same work, from 1; 0 also means the first
	Form        *AnswerForm     `json:"form,omitempty"`        // the required form of the answer; nil: text
	// Trace is the traceparent (W3C Trace Context) of what has caused the request elsewhere;
	// empty: it is not known. Whoever is sent traces is told, and nothing else depends on it.
	Trace string `json:"trace,omitempty"`
	// Review is the task of the board whose work the answer judges; 0: none.
	Review TaskNumber `json:"review,omitempty"`
	// Summary says that the answer is a summary of the ongoing conversation of the
	// agent that was asked, as far as it is in its window. The prompt is only there for
	// people to read.
	Summary bool `json:"summary,omitempty"`
}

// AnswerForm requires an answer to be JSON.
type AnswerForm struct {
	Schema json.RawMessage `json:"schema,omitempty"` // JSON Schema; empty: any JSON
}

// HistoryEntry is one message of the context array of a foreign ask_request.
type HistoryEntry struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Request is a piece of work that one agent has taken or will take. It has exactly one
// outcome.
type Request struct {
	ID           RequestID
	Kind         RequestKind
	Origin       Origin
	Agent        AgentID        // the agent that works it
	Addressed    AgentID        // the agent that was asked, if another works it: see [Request.Asked]
	Handed       string         // why it was handed over to Agent; empty if it was not
	Conversation ConversationID // empty for a task or ask not yet claimed
	Parent       RequestID      // the request whose delegate step waits for it
	RetryOf      RequestID
	Task         TaskNumber // of the board, that it works; 0: none
	Chain        RequestID  // root of its chain; its own id for a root
	Depth        int
	UptoSeq      int64 // the last foreign entry of the window, frozen at claim
	State        RequestState
	Reason       string  // why it waits, failed, was cancelled …
	Epoch        Epoch   // owner_epoch: the agent's epoch that claimed it
	Rights       *Rights // rights of the causing agent at that time; nil: a person caused it
	Passes       *Rights // the most it may pass on, as last stored by its turn; nil: not begun
	Taint        string  // source of the outside text that its turn has read or its prompt comes from; empty if none
	CancelAt     time.Time
	Deadline     time.Time
	Payload      Payload
	BodyHash     string
	Outcome      Outcome
	Attempts     int
	Touched      time.Time
	AnnouncedAt  time.Time
	CreatedAt    time.Time
	StartedAt    time.Time
	FinishedAt   time.Time
}

// Asked returns the agent that the request was addressed to, whichever agent works it.
func (r Request) Asked() AgentID {
	if r.Addressed != "" {
		return r.Addressed
	}
	return r.Agent
}

// Silent is the Stop of a request that is done though its agent said nothing: it was
// notified of a message and had nothing to add.
const Silent = "silent"

// Outcome is the result of a finished request, stored as JSON.
type Outcome struct {
	Answer    string     `json:"answer,omitempty"`
	Error     string     `json:"error,omitempty"`
	Stop      string     `json:"stop,omitempty"` // why the last answer ended, if it is not whole, or [Silent]; see docs/internals/failures.md
	ErrorKind Kind       `json:"error_kind,omitempty"`
	Entry     EntryID    `json:"entry,omitempty"` // of the final text
	Seq       int64      `json:"seq,omitempty"`
	ToolCalls []ToolUsed `json:"tool_calls,omitempty"`
	Usage     Usage      `json:"usage"`
	Model     string     `json:"model,omitempty"` // the model of the last call
	// Models are the models that were called, in order, if the agent has several.
	Models []ModelUsed `json:"models,omitempty"`
	Taint  string      `json:"taint,omitempty"` // the outside text that was read before the answer
}

// ModelUsed describes consecutive calls to one of an agent's several models.
type ModelUsed struct {
	Model string `json:"model"`
	Calls int    `json:"calls"`
	// Why says why the calls went to this model; empty for the agent's first.
	Why string `json:"why,omitempty"`
}

// ToolUsed describes one tool call of a finished request.
type ToolUsed struct {
	Tool    string `json:"tool"`
	File    string `json:"file,omitempty"`
	Success bool   `json:"success"`
}

// Usage counts tokens and money. Input includes Cached and Written; Output includes
// Reasoning; Cost is in micro-dollars (millionths of a US dollar).
type Usage struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Cached    int64 `json:"cached,omitempty"`  // read from the provider's cache
	Written   int64 `json:"written,omitempty"` // written to the provider's cache
	Reasoning int64 `json:"reasoning,omitempty"`
	Cost      int64 `json:"cost,omitempty"`
	// Estimated says that the provider did not report some of the tokens, and that they
	// were estimated from bytes.
	Estimated bool `json:"estimated,omitempty"`
	// Unpriced says that the cost of some of it is not known, and not part of Cost.
	Unpriced bool `json:"unpriced,omitempty"`
	// Subscription says that some of it is paid for by a subscription, and not part of Cost.
	Subscription bool `json:"subscription,omitempty"`
}

// The name of a guest's model, of which only its program is known, begins with GuestModels.
// Its end says how it is paid for, if not by what it costs.
const (
	GuestModels    = "acp:"
	BySubscription = "+subscription"
	FreeOfCharge   = "+free"
)

// AsBilled returns the usage of a model, with what the model's name says of its cost: that of
// a guest is not known if it is nothing, unless something else than money pays for it. The
// usage of other models is returned as it is.
func AsBilled(model string, u Usage) Usage {
	if strings.HasPrefix(model, GuestModels) {
		u.Subscription = strings.HasSuffix(model, BySubscription)
		u.Unpriced = u.Cost == 0 && !u.Subscription && !strings.HasSuffix(model, FreeOfCharge)
	}
	return u
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, Cached: u.Cached + v.Cached, Written: u.Written + v.Written,
		Reasoning: u.Reasoning + v.Reasoning, Cost: u.Cost + v.Cost,
		Estimated: u.Estimated || v.Estimated, Unpriced: u.Unpriced || v.Unpriced, Subscription: u.Subscription || v.Subscription,
	}
}

// Chain is all requests that descend from one message of a person, or from another
// root.
type Chain struct {
	Root      RequestID
	Turns     int
	Tokens    int64
	Cost      int64 // micro-dollars
	StartedAt time.Time
	LimitHit  string // the first limit that ended it; empty if none
	// Conversation is where the chain began. It is empty for chains of older versions
	// of fika, which did not record it.
	Conversation ConversationID
}
