package fika

import (
	"encoding/json"
	"time"
)

// RequestID identifies a request; for foreign requests it is their requestId.
type RequestID string

// RequestKind says how a request came to be.
type RequestKind string

// The kinds of request.
const (
	RunRequest    RequestKind = "run"    // a one-shot prompt in a context
	AskRequest    RequestKind = "ask"    // continues the agent's ongoing conversation
	TaskRequest   RequestKind = "task"   // a fresh, isolated conversation
	NotifyRequest RequestKind = "notify" // a batch of notifications of one conversation
	// WorkflowRequest stands for a run of a workflow: nobody claims it, and its
	// outcome is that of the run.
	WorkflowRequest RequestKind = "workflow"
)

// Origin says whether a request may be resumed without anybody asking.
type Origin string

// The origins.
const (
	Foreground Origin = "foreground" // a person waits at a terminal; never resumed by itself
	Queued     Origin = "queued"
)

// RequestState is where a request stands. The last five never change.
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

// Terminal reports whether s is an outcome.
func (s RequestState) Terminal() bool {
	switch s {
	case Done, RequestFailed, Cancelled, StateInterrupted, Dead:
		return true
	}
	return false
}

// WaitReason says what a waiting request waits for.
type WaitReason string

// The reasons to wait.
const (
	WaitPause    WaitReason = "pause"
	WaitApproval WaitReason = "approval"
	WaitChild    WaitReason = "child"
	WaitLimit    WaitReason = "limit" // the agent's hour is used up
)

// Payload is what the asker gave with a request, stored as JSON until the
// claim turns it into an entry, and kept after.
type Payload struct {
	Prompt      string          `json:"prompt,omitempty"`
	From        string          `json:"from,omitempty"`        // display name of the asker
	Writer      Writer          `json:"writer,omitempty"`      // who that is
	Model       string          `json:"model,omitempty"`       // id or nickname, for this request only
	Workspace   string          `json:"workspace,omitempty"`   // working folder of the asker
	History     []HistoryEntry  `json:"history,omitempty"`     // seeds an unknown conversation
	Sender      string          `json:"sender,omitempty"`      // metadata.sender of a foreign request
	Continue    bool            `json:"continue,omitempty"`    // go on without a new prompt
	Deadline    int64           `json:"deadline,omitempty"`    // Unix milliseconds; 0: none
	Extra       json.RawMessage `json:"extra,omitempty"`       // per-invocation settings, opaque to the store
	Background  bool            `json:"background,omitempty"`  // nobody waits for the answer
	Attachments []Attachment    `json:"attachments,omitempty"` // pictures of the prompt, which its text tells of
	Attempt     int             `json:"attempt,omitempty"`     // at the same work, from 1; 0 is the first as well
	Form        *AnswerForm     `json:"form,omitempty"`        // what the answer has to be; nil: a text
	// Summary says that the answer is a summary of what the agent that was asked has
	// before it in its ongoing conversation: the prompt only tells people so.
	Summary bool `json:"summary,omitempty"`
}

// AnswerForm says that an answer has to be JSON.
type AnswerForm struct {
	Schema json.RawMessage `json:"schema,omitempty"` // JSON Schema; empty: whatever it is
}

// HistoryEntry is one message of the context array of a foreign ask_request.
type HistoryEntry struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Request is a piece of work one agent has taken or will take. It gets exactly
// one terminal outcome.
type Request struct {
	ID           RequestID
	Kind         RequestKind
	Origin       Origin
	Agent        AgentID        // that works it
	Addressed    AgentID        // that was asked, where another works it: see [Request.Asked]
	Handed       string         // why it was handed over to Agent; empty: it was not
	Conversation ConversationID // empty for a task or ask not yet claimed
	Parent       RequestID      // whose delegate step waits for it
	RetryOf      RequestID
	Chain        RequestID // root of its chain; its own id for a root
	Depth        int
	UptoSeq      int64 // the window's last foreign entry, frozen at claim
	State        RequestState
	Reason       string  // why waiting, failed, cancelled …
	Epoch        Epoch   // owner_epoch: the agent's epoch that claimed it
	Rights       *Rights // of whoever caused it, as they were then; nil: a person did
	Passes       *Rights // what it may cause others to do at most, as its turn said last; nil: it has not begun
	Taint        string  // what its turn has read from outside, or its prompt comes from; empty: nothing
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

// Asked is the agent that was asked for it, whoever works it.
func (r Request) Asked() AgentID {
	if r.Addressed != "" {
		return r.Addressed
	}
	return r.Agent
}

// Outcome is what a finished request left, stored as JSON.
type Outcome struct {
	Answer    string     `json:"answer,omitempty"`
	Error     string     `json:"error,omitempty"`
	ErrorKind Kind       `json:"error_kind,omitempty"`
	Entry     EntryID    `json:"entry,omitempty"` // of the final text
	Seq       int64      `json:"seq,omitempty"`
	ToolCalls []ToolUsed `json:"tool_calls,omitempty"`
	Usage     Usage      `json:"usage"`
	Model     string     `json:"model,omitempty"` // that made the last call
	// Models are those that the calls went to, in turn, of an agent that has several.
	Models []ModelUsed `json:"models,omitempty"`
	Taint  string      `json:"taint,omitempty"` // what was read from outside before the answer
}

// ModelUsed tells of consecutive calls to one of an agent's several models.
type ModelUsed struct {
	Model string `json:"model"`
	Calls int    `json:"calls"`
	// Why they went to it; empty: it is the first.
	Why string `json:"why,omitempty"`
}

// ToolUsed tells of one tool call of a finished request.
type ToolUsed struct {
	Tool    string `json:"tool"`
	File    string `json:"file,omitempty"`
	Success bool   `json:"success"`
}

// Usage counts tokens and money. Input includes Cached; Cost is in
// micro-dollars (millionths of a US dollar).
type Usage struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Cached    int64 `json:"cached,omitempty"`
	Reasoning int64 `json:"reasoning,omitempty"`
	Cost      int64 `json:"cost,omitempty"`
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, Cached: u.Cached + v.Cached,
		Reasoning: u.Reasoning + v.Reasoning, Cost: u.Cost + v.Cost,
	}
}

// Chain is all requests that descend from one human message (or other root).
type Chain struct {
	Root      RequestID
	Turns     int
	Tokens    int64
	Cost      int64 // micro-dollars
	StartedAt time.Time
	LimitHit  string // which limit ended it first; empty: none
	// Conversation is where the chain began; empty for one begun by a fika
	// that did not note it.
	Conversation ConversationID
}
