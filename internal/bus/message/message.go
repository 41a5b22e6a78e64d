package message

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fika"
)

// Version is the value that fika writes in the optional field v.
const Version = 1

// The message types.
const (
	TypeTask      = "task_request"
	TypeAsk       = "ask_request"
	TypeStatus    = "status"
	TypeResponse  = "response"
	TypeHeartbeat = "heartbeat"
	TypeIdle      = "idle"
	// TypeRejected is the type, and the status, of the answer to a message that reuses
	// the requestId of another request; it says nothing about that request.
	TypeRejected = "rejected"
)

// StatusWaiting is the status of a request that is withheld from its agent, which was
// stopped by hand, has failed, or is paused.
const StatusWaiting = "waiting"

// Request asks an agent for work: a task_request or an ask_request.
type Request struct {
	Type           string              `json:"type"`
	RequestID      string              `json:"requestId"`
	AgentName      string              `json:"agentName"`
	Prompt         string              `json:"prompt"`
	ConversationID string              `json:"conversationId,omitempty"`
	Context        []fika.HistoryEntry `json:"context"`
	Metadata       Metadata            `json:"metadata"`
	V              int                 `json:"v,omitempty"`
	ChainRoot      string              `json:"chainRoot,omitempty"`
	Depth          int                 `json:"depth,omitempty"`
	Team           string              `json:"team,omitempty"`    // on the subject of [TeamAgent]: who works, as in "a, b -> c"
	Combine        string              `json:"combine,omitempty"` // of a team: who combines several answers into one
}

// TeamAgent is the name whose subject takes requests to a team.
const TeamAgent = "workflow"

// Metadata describes the sender; it is displayed, never trusted.
type Metadata struct {
	Sender                   string `json:"sender,omitempty"`
	Timestamp                string `json:"timestamp,omitempty"`
	ConversationMessageCount int    `json:"conversationMessageCount,omitempty"`
}

// Status reports what a turn is doing. Status is one of waiting, processing,
// streaming, tool_call, tool_result, completed, error.
type Status struct {
	Type           string     `json:"type"`
	RequestID      string     `json:"requestId"`
	AgentName      string     `json:"agentName"`
	WorkedBy       string     `json:"workedBy,omitempty"` // the agent at work, if it is not agentName
	Status         string     `json:"status"`
	Data           StatusData `json:"data"`
	Timestamp      string     `json:"timestamp"`
	V              int        `json:"v,omitempty"`
	Conversation   string     `json:"conversation,omitempty"`
	ConversationID string     `json:"conversationId,omitempty"`
}

// ShortenedKey is the key in the arguments of a call that were too long for a status: an
// object with one [Shortened] for each argument that is not whole.
const ShortenedKey = "$shortened"

// Shortened is the full size of an argument of which a status has only the beginning, or
// nothing.
type Shortened struct {
	Bytes int `json:"bytes"`
	Lines int `json:"lines,omitempty"` // of a text
}

// StatusData is the detail of a [Status]. Step and Offset place a streamed chunk: its
// model round, and its first byte in the text of that round.
type StatusData struct {
	CallID    string          `json:"callId,omitempty"` // of a tool_call and its tool_result: the same for both, and for no other call
	ToolName  string          `json:"toolName,omitempty"`
	ToolArgs  json.RawMessage `json:"toolArgs,omitempty"` // of a tool_call, and of the tool_result of a call that was denied
	Message   string          `json:"message,omitempty"`
	Code      string          `json:"code,omitempty"` // of Message, if it says what the work waits for
	Chunk     string          `json:"chunk,omitempty"`
	Reasoning bool            `json:"reasoning,omitempty"` // Chunk is reasoning
	Step      int             `json:"step,omitempty"`
	Round     int             `json:"round,omitempty"` // the model round, as in Step
	Epoch     fika.Epoch      `json:"epoch,omitempty"` // of whoever works the request: text of an older one is void
	Offset    int             `json:"offset,omitempty"`
	Restart   bool            `json:"restart,omitempty"` // what was streamed for Step so far is void
	Success   *bool           `json:"success,omitempty"`
	Denied    bool            `json:"denied,omitempty"`
	Kind      string          `json:"kind,omitempty"` // ask, task, notify, run
	Prompt    string          `json:"prompt,omitempty"`
	Continues string          `json:"continues,omitempty"` // what continues here: "conversation", "request" after an interruption, "answers" when the delegated work has ended
}

// Live is what a turn is streaming now. Whoever begins to listen in the middle of it
// joins Text and the chunks that follow by Offset.
type Live struct {
	Request string     `json:"request"`
	Epoch   fika.Epoch `json:"epoch"`
	Round   int        `json:"round"`
	CallID  string     `json:"call_id,omitempty"` // of the tool call under way
	Offset  int        `json:"offset"`            // bytes of the round's text before Text
	Text    string     `json:"text"`              // at most [MaxLive] bytes, the newest
}

// MaxLive bounds [Live.Text], in bytes.
const MaxLive = 128 << 10

// LiveRequest asks for a [Live]: that of a request, or of the turn that streamed last.
type LiveRequest struct {
	Request string `json:"request,omitempty"`
}

// Response is the outcome of a request. Status is completed, failed, cancelled,
// interrupted or dead; with the type rejected it is rejected.
type Response struct {
	Type      string `json:"type"`
	RequestID string `json:"requestId"`
	AgentName string `json:"agentName"`
	WorkedBy  string `json:"workedBy,omitempty"` // the agent that worked, if it is not agentName
	Result    Result `json:"result"`
	Status    string `json:"status"`
	Error     string `json:"error,omitempty"`
	Timestamp string `json:"timestamp"`
	V         int    `json:"v,omitempty"`
}

// Result is the result of a completed request.
type Result struct {
	Content        string          `json:"content"`
	ConversationID string          `json:"conversationId"`
	ToolCalls      []fika.ToolUsed `json:"toolCalls"`
	TokensUsed     Tokens          `json:"tokensUsed"`
	MessageID      string          `json:"messageId,omitempty"`
}

// Tokens counts tokens.
type Tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// Heartbeat is a sign of life. Uptime is in seconds.
type Heartbeat struct {
	Type                  string `json:"type"`
	AgentName             string `json:"agentName"`
	Status                string `json:"status"` // idle or busy (starting, stopped on change)
	Uptime                int64  `json:"uptime"`
	RequestsProcessed     int64  `json:"requestsProcessed"`
	CurrentConversationID string `json:"currentConversationId"`
	Timestamp             string `json:"timestamp"`
	PID                   int    `json:"pid,omitempty"`
	Model                 string `json:"model,omitempty"`
	V                     int    `json:"v,omitempty"`
}

// Idle is what the hub of an agent tells its process: it has looked at the database for
// it, and found nothing to do. Times are in nanoseconds since this machine was started.
type Idle struct {
	Type       string `json:"type"`
	Lease      string `json:"lease"`      // of the process that is meant
	LookedAt   int64  `json:"lookedAt"`   // when the hub began to look
	LeaseUntil int64  `json:"leaseUntil"` // until when the hub has renewed the lease; 0: it has not
}

// Control asks an agent process to do something that is already committed; the message
// only makes it prompt. Action is shutdown, reset, cancel or switch. The actions
// compact and summarise are not committed anywhere: the caller waits for the answer.
type Control struct {
	Action         string `json:"action"`
	RequestID      string `json:"requestId,omitempty"`
	ConversationID string `json:"conversationId,omitempty"` // of compact: a chat; empty: the agent's own conversation
	Mode           string `json:"mode,omitempty"`           // of shutdown: "", "finish", "now"
	Rolling        bool   `json:"rolling,omitempty"`        // of compact: only part of the window
	Undo           bool   `json:"undo,omitempty"`           // of compact: undo the last one
	Instructions   string `json:"instructions,omitempty"`   // of compact: what the summary should hold in particular
	Model          string `json:"model,omitempty"`          // of compact and summarise: the model that writes the summary; empty: the agent's
}

// Desired returns the state that a shutdown wants. Error kind: Invalid.
func (c Control) Desired() (fika.Desired, error) {
	switch c.Mode {
	case "":
		return fika.DesiredStopped, nil
	case "finish":
		return fika.DesiredFinish, nil
	case "now":
		return fika.DesiredNow, nil
	}
	return "", fika.Errorf(fika.Invalid, "control", "unknown mode %.40q; known are finish and now", c.Mode)
}

// ToCancel returns the request that a cancel is about. Error kind: Invalid.
func (c Control) ToCancel() (fika.RequestID, error) {
	if c.RequestID == "" {
		return "", fika.Errorf(fika.Invalid, "control", "cancel needs a requestId")
	}
	return fika.RequestID(c.RequestID), nil
}

// UnknownAction returns the error for an action that does not exist.
func (c Control) UnknownAction() error {
	return fika.Errorf(fika.Invalid, "control", "unknown action %.40q; known are shutdown, reset, cancel, switch, compact, summarise", c.Action)
}

// ControlReply answers a [Control].
type ControlReply struct {
	OK        bool            `json:"ok"`
	Error     string          `json:"error,omitempty"`
	ErrorKind string          `json:"errorKind,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"` // of compact: [Compacted]; of summarise: [Summarised]
}

// Compacted describes the result of a compaction.
type Compacted struct {
	Archived []int64    `json:"archived"` // seqs
	Kept     int        `json:"kept"`
	Before   int64      `json:"tokensBefore"`
	Counted  bool       `json:"counted"` // Before is what the provider counted
	After    int64      `json:"tokensAfter"`
	Summary  string     `json:"summary,omitempty"`
	Usage    fika.Usage `json:"usage"`
	Undone   string     `json:"undone,omitempty"` // the compaction that was undone
}

// Summarised is a summary of an agent's window.
type Summarised struct {
	Summary string     `json:"summary"`
	Entries int        `json:"entries"`         // how many were read for it
	Model   string     `json:"model,omitempty"` // that wrote it
	Taint   string     `json:"taint,omitempty"` // the text from outside that it may contain
	Usage   fika.Usage `json:"usage"`
}

// Dead reports a message that could not be understood.
type Dead struct {
	Subject   string `json:"subject"`
	Reason    string `json:"reason"`
	Body      string `json:"body"` // shortened to 4 KiB
	Timestamp string `json:"timestamp"`
}

// TimeText formats a time as it is sent: RFC 3339, UTC.
func TimeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Limits of a request from the bus.
const (
	MaxPrompt  = 900 << 10 // bytes
	MaxHistory = 10_000    // entries of context
)

// ParseRequest reads and checks a request that arrived on agent's subject. On an error
// the result still holds the requestId if it could be read, so that an error response
// can be sent. Error kind: Invalid.
func ParseRequest(data []byte, agent fika.AgentName) (Request, error) {
	var r Request
	if !utf8.Valid(data) {
		return r, fika.Errorf(fika.Invalid, "request", "not valid UTF-8")
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return Request{RequestID: readID(data)}, fika.Errorf(fika.Invalid, "request", "not the JSON of a request: %s", shorten(err.Error()))
	}
	if err := r.check(agent); err != nil {
		return Request{RequestID: cleanID(r.RequestID)}, err
	}
	r.AgentName = string(agent)
	return r, nil
}

// check returns an error that says what is wrong with r as a request for agent.
func (r Request) check(agent fika.AgentName) error {
	bad := func(format string, args ...any) error {
		return fika.Errorf(fika.Invalid, "request", format, args...)
	}
	switch {
	case r.V < 0 || r.V > Version:
		return bad("version %d is not known here; this fika speaks version %d", r.V, Version)
	case r.RequestID == "":
		return bad("requestId is missing")
	case cleanID(r.RequestID) == "":
		return bad("requestId has more than %d characters, or spaces or invisible characters in it", maxID)
	case r.Type != TypeTask && r.Type != TypeAsk:
		return bad("type is %.40q; expected task_request or ask_request", r.Type)
	case agent == TeamAgent && strings.TrimSpace(r.Team) == "":
		return bad("team is missing: who is to work, as in \"researcher, coder\" or \"researcher -> coder\"")
	case agent != TeamAgent && r.Team != "":
		return bad("a team is asked on the subject of %s", TeamAgent)
	case strings.TrimSpace(r.Prompt) == "":
		return bad("prompt is missing")
	case len(r.Prompt) > MaxPrompt:
		return bad("prompt has %d bytes; at most %d are taken", len(r.Prompt), MaxPrompt)
	case r.AgentName != "" && !strings.EqualFold(r.AgentName, string(agent)):
		return bad("agentName is %.40q but the subject says %q", r.AgentName, agent)
	case r.Depth < 0:
		return bad("depth is %d; it counts from 0", r.Depth)
	case r.ChainRoot != "" && cleanID(r.ChainRoot) == "":
		return bad("chainRoot has more than %d characters, or spaces or invisible characters in it", maxID)
	case len(r.Context) > MaxHistory:
		return bad("context has %d entries; at most %d are taken", len(r.Context), MaxHistory)
	}
	for i, h := range r.Context {
		if h.Role != "user" && h.Role != "assistant" {
			return bad("context[%d] has the role %.40q; expected user or assistant", i, h.Role)
		}
	}
	if r.ConversationID != "" {
		if _, err := fika.ParseConversationName(r.ConversationID); err != nil {
			return bad("conversationId: %v", err)
		}
	}
	return nil
}

// readID finds the requestId of a body in which something else is wrong.
func readID(data []byte) string {
	var fields map[string]json.RawMessage
	var id string
	if json.Unmarshal(data, &fields) != nil || json.Unmarshal(fields["requestId"], &id) != nil {
		return ""
	}
	return cleanID(id)
}

const maxID = 128

// cleanID gives s if it can be an id, else nothing.
func cleanID(s string) string {
	if utf8.RuneCountInString(s) > maxID {
		return ""
	}
	for _, c := range s {
		if c == ' ' || !unicode.IsPrint(c) || c == utf8.RuneError {
			return ""
		}
	}
	return s
}

func shorten(s string) string {
	const limit = 200
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
