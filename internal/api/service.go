package api

import (
	"context"
	"encoding/json"
	"time"
)

// Service is what a door asks of fika, in the name of one principal. What that one may
// not see is left out of lists and refused by name. Every call fails with an [*Error] or
// with the error of its context. It is safe for concurrent use.
type Service interface {
	Watcher
	Lister
	Speaker
	Controller
	AgentLeader
	RunLeader
	Accountant
	Reader
	Meter
	Boarder
	Lander
}

// Lister reads lists page by page.
type Lister interface {
	// Agents returns the agents of the home by name.
	Agents(context.Context, Page) (List[AgentInfo], error)
	// Conversations returns conversations, those with the latest activity first.
	Conversations(context.Context, Page) (List[ConversationInfo], error)
	// Requests returns requests of the scope's agents and conversations, newest first,
	// whether they have ended or not; with Scope.Requests those alone.
	Requests(context.Context, Scope, Page) (List[RequestInfo], error)
	// Entries returns the entries of a conversation by seq: those behind the seq in
	// Page.After.
	Entries(ctx context.Context, conversation string, page Page) (List[EntryInfo], error)
}

// Speaker says something in the principal's name.
type Speaker interface {
	// Send posts a message in a chat. Whoever it mentions is asked to answer.
	Send(context.Context, Message, Write) (Sent, error)
	// Withdraw takes back what waits for a turn, and returns how it then stands: what was
	// delivered before stays so.
	Withdraw(ctx context.Context, input string, w Write) (InputInfo, error)
	// Ask gives an agent work. It returns once that is stored: the answer is the last
	// entry of the request, which [Watcher.Watch] shows.
	Ask(context.Context, Ask, Write) (Asked, error)
}

// Controller changes what goes on. Whatever names a conversation means the whole home if
// that name is empty, where a home can do it.
type Controller interface {
	// Cancel asks a request, and those that it has caused, to end.
	Cancel(ctx context.Context, request, reason string, w Write) error
	// Retry begins a request anew that did not end well, and returns the new one.
	Retry(ctx context.Context, request string, w Write) (string, error)
	// Pause lets running steps finish and nothing new begin; Resume ends that.
	Pause(ctx context.Context, conversation string, w Write) error
	Resume(ctx context.Context, conversation string, w Write) error
	// Stop drops what waits in a conversation and asks what runs there to end.
	Stop(ctx context.Context, conversation string, w Write) error
	// Continue goes on with what a limit has stopped.
	Continue(ctx context.Context, conversation string, w Write) error
	// SetMode sets what agents may do by themselves because of what is said in a chat: plan,
	// ask, edit or auto. Only a person does.
	SetMode(ctx context.Context, conversation, mode string, w Write) error
	// AcceptPlan accepts a plan, the id of an entry: the chat gets the mode, and the agent whose
	// plan it is is asked to carry it out. It fails with [Conflict] if the plan is not the
	// newest of a chat in plan mode.
	AcceptPlan(ctx context.Context, conversation, plan, mode string, w Write) error
	// Session begins a chat of one person, and returns its name.
	Session(ctx context.Context, w Write) (string, error)
	// Rule returns the one rule that allows calls like that of an approval from now on, for a
	// person to see and to give with an [Answer]. It fails if no one rule can, so that nobody
	// is asked about that very call again.
	Rule(ctx context.Context, approval int64) (ApprovalRule, error)
	// Answer answers an approval. It fails with [Conflict] if it has been answered, or if a
	// rule is given that [Controller.Rule] does not return any more.
	Answer(ctx context.Context, approval int64, a Answer, w Write) error
}

// AgentLeader starts and stops the processes of agents. Both wait a moment for what comes
// of it, and fail with [Interrupted] if that takes longer: what was asked for holds.
type AgentLeader interface {
	// StartAgent starts an agent, or each member of a pool. Its error says why it does not
	// come up, with the end of its log.
	StartAgent(ctx context.Context, agent string, w Write) error
	// StopAgent stops an agent and keeps it stopped; how is [StopStep], [StopFinish] or [StopNow].
	StopAgent(ctx context.Context, agent, how string, w Write) error
}

// The ways to stop an agent.
const (
	StopStep   = "step"   // after its current step; what is unfinished goes on when it runs again
	StopFinish = "finish" // after the requests under way
	StopNow    = "now"    // its current step is cancelled
)

// RunLeader leads runs of workflows, each named by its id.
type RunLeader interface {
	// Workflows returns the definitions of which runs can be started, by name, those with
	// mistakes among them.
	Workflows(context.Context) ([]WorkflowInfo, error)
	// StartRun starts a run of one of them, with inputs as they were typed, and returns the
	// run's id.
	StartRun(ctx context.Context, workflow string, inputs map[string]string, w Write) (string, error)
	// ResumeRun goes on with a run that is over: with the steps that are not done, and, if
	// from is not empty, with that step and all that depend on it.
	ResumeRun(ctx context.Context, run, from string, w Write) error
	// PauseRun, ContinueRun and CancelRun lead a run that is not over.
	PauseRun(ctx context.Context, run string, w Write) error
	ContinueRun(ctx context.Context, run string, w Write) error
	CancelRun(ctx context.Context, run, reason string, w Write) error
}

// Limits of a [Page].
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Page is a part of a list.
type Page struct {
	After string // [List.Next] of the page before; empty: the first page
	Limit int    // at most so many items; 0: [DefaultPage]; more than [MaxPage] counts as that
}

// List is a page of a list. What changes meanwhile may come twice or be missing in the
// pages that follow: to miss nothing, [Watcher.Look] and watch.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"` // empty: that was the last page
}

// State is how the things of a scope stand: what is under way, and what that is about.
type State struct {
	Agents        []AgentInfo        `json:"agents"`
	Conversations []ConversationInfo `json:"conversations"` // those of the scope, or the newest; and those of Requests
	Requests      []RequestInfo      `json:"requests"`      // not ended, oldest first; and those of Scope.Requests
	Approvals     []ApprovalInfo     `json:"approvals"`     // open, oldest first
	Runs          []RunInfo          `json:"runs"`          // not ended, newest first
	Inputs        []InputInfo        `json:"inputs"`        // that wait for turns, oldest first
	Jobs          []JobInfo          `json:"jobs"`          // background commands that run, newest first
	Hosts         []HostInfo         `json:"hosts"`         // by name, of everything; none if there are not several
	Paused        bool               `json:"paused"`        // everything is
}

// HostInfo is one of several hosts, and how it stands.
type HostInfo struct {
	Name    string    `json:"name"`
	Here    bool      `json:"here"`  // the service is on it
	Up      bool      `json:"up"`    // its hub runs, as far as the database knows
	State   string    `json:"state"` // up or down, or of one that starts on demand: asleep starting stopping stopped "start failed"
	Drained bool      `json:"drained"`
	Seen    time.Time `json:"seen"` // when its hub gave the last sign of life
}

// AgentInfo is an agent and what it does.
type AgentInfo struct {
	Name        string   `json:"name"`
	DisplayName string   `json:"display_name,omitempty"`
	Description string   `json:"description,omitempty"`
	Host        string   `json:"host,omitempty"`    // that it is on, if there are several
	State       string   `json:"state"`             // of its process: idle busy stopped failed …
	Word        string   `json:"word"`              // State, but off if a person stopped it, and idle if it starts when there is work
	Model       string   `json:"model,omitempty"`   // nickname or id, if known
	Waiting     int      `json:"waiting"`           // requests and chats that it could take now
	Running     []string `json:"running,omitempty"` // ids of the requests it works, as far as they may be seen
	Why         Status   `json:"why,omitzero"`      // what it does, or what is wrong
	Trouble     Status   `json:"trouble,omitzero"`  // clear: it is healthy
	// Workspace is the folder that it works in when the hub has started it; empty if that
	// is not known, or not for the principal to see.
	Workspace string `json:"workspace,omitempty"`
}

// ConversationInfo is a conversation and what goes on in it.
type ConversationInfo struct {
	Name         string   `json:"name"`
	Kind         string   `json:"kind"`            // chat ask task …
	Agent        string   `json:"agent,omitempty"` // its owner, of an ask or a task
	Participants []string `json:"participants,omitempty"`
	Session      bool     `json:"session"` // a chat of one person
	Seq          int64    `json:"seq"`     // of its last entry
	Busy         bool     `json:"busy"`    // something runs or waits in it; only known of a chat that a [Scope] names
	Paused       bool     `json:"paused"`
	Mode         string   `json:"mode"`           // plan ask edit auto; empty: none is set
	Held         []string `json:"held,omitempty"` // who keeps it paused for now
	// Limit is the limit that has stopped the latest chain of a chat; empty: none has.
	// Only [Watcher.Look] says it, of chats of the last day.
	Limit   string    `json:"limit,omitempty"`
	Updated time.Time `json:"updated"`
}

// RequestInfo is a request and how it stands.
type RequestInfo struct {
	ID           string    `json:"id"`
	Kind         string    `json:"kind"`  // ask task notify run workflow
	State        string    `json:"state"` // open running waiting; ended: done failed cancelled interrupted dead
	Agent        string    `json:"agent"` // that works it
	Conversation string    `json:"conversation,omitempty"`
	Chain        string    `json:"chain,omitempty"`
	Parent       string    `json:"parent,omitempty"`
	Task         int64     `json:"task,omitempty"`       // of the board, that it works
	Wait         string    `json:"wait,omitempty"`       // what a waiting one waits for: pause approval child limit provider
	Tool         string    `json:"tool,omitempty"`       // that runs now
	Since        time.Time `json:"since,omitzero"`       // when that began
	Calls        int       `json:"calls,omitempty"`      // of the model, so far
	Error        ErrorCode `json:"error,omitempty"`      // of one that has failed
	Detail       string    `json:"detail,omitempty"`     // of that error, in English: its beginning, at most 300 bytes
	Approval     int64     `json:"approval,omitempty"`   // the first question to a person that it waits for, also while it runs
	Answer       int64     `json:"answer,omitempty"`     // seq of its answer in its conversation
	Cancelling   bool      `json:"cancelling,omitempty"` // it was asked to end
	Created      time.Time `json:"created"`
	Ended        time.Time `json:"ended,omitzero"`
}

// ApprovalInfo is a question about a tool call, or about a step of a run.
type ApprovalInfo struct {
	Number       int64           `json:"number"`
	Request      string          `json:"request"`
	Agent        string          `json:"agent,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	CallID       string          `json:"call_id,omitempty"` // of the tool call
	Tool         string          `json:"tool,omitempty"`
	Args         json.RawMessage `json:"args,omitempty"` // as the call would be executed
	Workspace    string          `json:"workspace,omitempty"`
	What         string          `json:"what,omitempty"` // the part of the call that is asked about
	Rule         string          `json:"rule,omitempty"` // that asks, with its place
	// Choice are the answers of which a step of a run asks for one: whoever allows gives it
	// as Why. With Answer, "text", it is a text of their own.
	Choice  []string  `json:"choice,omitempty"`
	Answer  string    `json:"answer,omitempty"`
	State   string    `json:"state"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"`
}

// RunInfo is a run of a workflow or of a team.
type RunInfo struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Title        string    `json:"title,omitempty"`
	Conversation string    `json:"conversation,omitempty"` // where its steps are
	State        string    `json:"state"`
	Paused       bool      `json:"paused"`
	Limit        string    `json:"limit,omitempty"` // which ended it: max_cost, max_tokens, max_turns, max_time
	Begun        time.Time `json:"begun"`
	Ended        time.Time `json:"ended,omitzero"`
}

// WorkflowInfo is the definition of a workflow.
type WorkflowInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	File        string          `json:"file,omitempty"` // empty: it comes with fika
	Inputs      []WorkflowInput `json:"inputs"`
	Trouble     string          `json:"trouble,omitempty"` // its mistakes, with which no run can be started
}

// WorkflowInput is a value that a run is given when it starts.
type WorkflowInput struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Type        string          `json:"type"`              // text number boolean list agent
	Default     json.RawMessage `json:"default,omitempty"` // empty: it must be given
}

// EntryInfo is an entry at its place in a conversation.
type EntryInfo struct {
	Seq     int64     `json:"seq"`
	Request string    `json:"request,omitempty"`
	At      time.Time `json:"at"`
	Entry
}

// Message is what is said in a chat.
type Message struct {
	Conversation string `json:"conversation"`
	Text         string `json:"text"`
	// Steer means that a message for one agent alone, if that has a turn under way in the
	// conversation, waits until the turn next asks its model, or ends. Only a person steers.
	Steer bool `json:"steer"`
	// Files go with the text: texts become part of it, and pictures are stored. Only a person
	// sends any. The door has read them: nothing here is a name of a file of this machine.
	Files []File `json:"-"`
}

// File is the content of a file, under the name that a person knows it by.
type File struct {
	Name string
	Data []byte
}

// InputInfo is a text that waits for a turn of an agent, or waited.
type InputInfo struct {
	ID           string    `json:"id"` // also of the entry that it becomes
	Conversation string    `json:"conversation"`
	Agent        string    `json:"agent"`
	From         string    `json:"from"`
	Text         string    `json:"text"`
	State        string    `json:"state"`         // queued taken withdrawn posted
	Seq          int64     `json:"seq,omitempty"` // of the entry that it became
	Created      time.Time `json:"created"`
}

// JobInfo is a command that an agent has started in the background.
type JobInfo struct {
	Number       int64     `json:"number"`
	Agent        string    `json:"agent"`
	Conversation string    `json:"conversation"`
	Request      string    `json:"request"` // that started it
	Command      string    `json:"command"`
	Description  string    `json:"description,omitempty"`
	Folder       string    `json:"folder"`
	State        string    `json:"state"`            // running ended killed lost
	Ending       bool      `json:"ending,omitempty"` // it was asked to end
	Reason       string    `json:"reason,omitempty"` // why it was ended, or did not start
	Started      time.Time `json:"started"`
	Ended        time.Time `json:"ended,omitzero"`
}

// Sent says what a message has set off.
type Sent struct {
	ID     string   `json:"id"`
	Seq    int64    `json:"seq"`
	Notify []string `json:"notify"` // the agents that are asked to answer
	Repeat bool     `json:"repeat"` // it was sent before, under the same key
	Input  string   `json:"input"`  // the id of the message that waits for a turn; empty: it was posted
}

// Ask is work for an agent.
type Ask struct {
	Agent  string `json:"agent"`
	Prompt string `json:"prompt"`
	// Task asks for a conversation of its own; otherwise an ask conversation goes on.
	Task bool `json:"task"`
	// Conversation is the ask conversation that goes on, or is begun; empty: the agent's
	// ongoing one.
	Conversation string `json:"conversation"`
	// History is what was said before, for a conversation that is begun.
	History []HistoryItem `json:"history"`
	// Form requires the answer to be JSON; nil: text.
	Form      *Form     `json:"form"`
	Model     string    `json:"model"`     // for this request only; empty: the agent's
	Workspace string    `json:"workspace"` // an absolute path; empty: the agent's own
	Deadline  time.Time `json:"deadline"`  // zero: none
	Detached  bool      `json:"detached"`  // nobody waits for the answer
}

// HistoryItem is a message of a conversation that was held elsewhere.
type HistoryItem struct {
	Role    string `json:"role"` // user or assistant
	Content string `json:"content"`
}

// Form is what an answer has to look like.
type Form struct {
	Schema json.RawMessage `json:"schema"` // JSON Schema; empty: any JSON
}

// Asked says which request stands for an ask.
type Asked struct {
	Request      string `json:"request"`
	Conversation string `json:"conversation"`
	State        string `json:"state"`
	Repeat       bool   `json:"repeat"` // it was asked before, under the same key
}

// Answer is a person's answer to an approval.
type Answer struct {
	Allow bool   `json:"allow"`
	Why   string `json:"why"` // a reason for the agent, which may be empty; or what [ApprovalInfo] asks for
	// Rule is the [ApprovalRule.Text] that the person has seen, to be written with what is
	// allowed; empty: the call is allowed once.
	Rule string `json:"rule"`
}

// ApprovalRule is a rule that would spare a person a question.
type ApprovalRule struct {
	Pattern string `json:"pattern"` // the calls that it allows, in a few words
	Text    string `json:"text"`    // as it would be written
}
