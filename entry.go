package fika

import (
	"encoding/json"
	"time"
)

// EntryType says what kind of thing an [Entry] records.
type EntryType string

// The entry types. The first four are those of chibi's transcripts.
const (
	Message    EntryType = "message"
	ToolCall   EntryType = "tool_call"
	ToolResult EntryType = "tool_result"
	Compaction EntryType = "compaction"
	Notice     EntryType = "notice" // said by fika itself; nobody's message, never forwarded
	Rewind     EntryType = "rewind" // a person has taken a part of the conversation out of what models see, or put it back
)

// RenamedNotice is the Kind of the notice that says that a chat has been renamed.
const RenamedNotice = "renamed"

// FilesNotice is the Kind of the notice that says in a turn which of its calls have changed
// files that are not where it goes on.
const FilesNotice = "files"

// EntryID identifies an entry for ever: a UUID for fika's own entries, free text for
// imported ones.
type EntryID string

// Entry is one thing that happened in a conversation. Entries are appended and never
// changed. Seq counts per conversation, starts at 1 and never decreases; entries are
// ordered by Seq, never by time.
type Entry struct {
	Conversation ConversationID
	Seq          int64
	ID           EntryID
	At           time.Time
	From         string // username, agent name, or tool name: the speaker as shown
	To           string // chat name, agent name, "user", or tool name
	Content      string
	Type         EntryType

	Request   RequestID // the request whose turn wrote it or whose prompt it is; empty for what people post
	ReplyTo   EntryID
	Chain     RequestID // root of the chain it belongs to
	Depth     int
	Pinned    bool
	ExpiresAt time.Time // zero: never
	Meta      EntryMeta
}

// Writer says who wrote an entry, regardless of the name that From displays.
type Writer string

// The writers.
const (
	ByHuman  Writer = "human"
	ByAgent  Writer = "agent"
	ByTool   Writer = "tool"
	BySystem Writer = "system"
)

// CheckOrigin is the origin of the calls that run the check of a task of the board.
const CheckOrigin = "check"

// EntryMeta holds the further details of an entry, stored as JSON.
type EntryMeta struct {
	Writer     Writer   `json:"writer,omitempty"`
	WriterName string   `json:"writer_name,omitempty"` // the authenticated name behind From
	ToolCallID string   `json:"tool_call_id,omitempty"`
	IsError    bool     `json:"is_error,omitempty"` // of a tool_result
	Sandbox    string   `json:"sandbox,omitempty"`  // of a tool_result: how its processes were confined
	Origin     string   `json:"origin,omitempty"`   // of a tool_call or tool_result: what made the call, if not a model of fika's
	Reasoning  string   `json:"reasoning,omitempty"`
	Usage      *Usage   `json:"usage,omitempty"`
	Plan       bool     `json:"plan,omitempty"`    // of a message: a plan that a person may accept
	Final      bool     `json:"final,omitempty"`   // of a message: the answer of its request
	UpTo       int64    `json:"up_to,omitempty"`   // of a compaction: everything at or before this seq is out of the window
	Kept       []int64  `json:"kept,omitempty"`    // of a compaction: seqs at or before UpTo that stay in the window
	Summary    string   `json:"summary,omitempty"` // of a compaction: the summary after it
	Was        string   `json:"was,omitempty"`     // of a compaction: the summary before it
	Undo       int64    `json:"undo,omitempty"`    // of a compaction or a rewind: takes back the one with this seq
	Cut        Cut      `json:"cut,omitzero"`      // of a rewind: what it takes out
	View       AgentID  `json:"view,omitempty"`    // of a compaction in a chat: the agent whose window it shortens; empty: everybody's
	Kind       string   `json:"kind,omitempty"`    // of a notice: limit, failed, interrupted …
	Delivered  []string `json:"delivered,omitempty"`
	Taint      Taint    `json:"taint,omitzero"`
	// Attachments are the pictures of a message or a tool result; its text describes them.
	Attachments []Attachment `json:"attachments,omitempty"`
}

// entryJSON is an entry as read outside the database: first chibi's six fields, exactly
// as chibi writes them (timestamp in Unix seconds), then fika's own.
type entryJSON struct {
	ID        EntryID   `json:"id"`
	Timestamp int64     `json:"timestamp"`
	From      string    `json:"from"`
	To        string    `json:"to"`
	Content   string    `json:"content"`
	Type      EntryType `json:"entry_type"`

	Seq       int64      `json:"seq,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"`
	Request   RequestID  `json:"request_id,omitempty"`
	ReplyTo   EntryID    `json:"reply_to,omitempty"`
	Depth     int        `json:"depth,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	Chain     RequestID  `json:"chain,omitempty"`
	Pinned    bool       `json:"pinned,omitempty"`
	Expires   *time.Time `json:"expires_at,omitempty"`
	Millis    int64      `json:"at_ms,omitempty"`
	Meta      *EntryMeta `json:"metadata,omitempty"`
}

// MarshalJSON writes the form that the mirror, --json and the bus use.
func (e Entry) MarshalJSON() ([]byte, error) {
	j := entryJSON{
		ID: e.ID, Timestamp: e.At.Unix(), From: e.From, To: e.To, Content: e.Content, Type: e.Type,
		Seq: e.Seq, CallID: e.Meta.ToolCallID, Request: e.Request, ReplyTo: e.ReplyTo, Depth: e.Depth,
		Usage: e.Meta.Usage, Reasoning: e.Meta.Reasoning, Chain: e.Chain, Pinned: e.Pinned,
	}
	if ms := e.At.UnixMilli(); ms%1000 != 0 {
		j.Millis = ms
	}
	if !e.ExpiresAt.IsZero() {
		t := e.ExpiresAt.UTC()
		j.Expires = &t
	}
	m := e.Meta
	m.ToolCallID, m.Usage, m.Reasoning = "", nil, ""
	if raw, err := json.Marshal(m); err == nil && string(raw) != "{}" {
		j.Meta = &m
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the output of [Entry.MarshalJSON], and entries that have only
// chibi's six fields.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var j entryJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*e = Entry{
		ID: j.ID, At: time.Unix(j.Timestamp, 0).UTC(), From: j.From, To: j.To, Content: j.Content, Type: j.Type,
		Seq: j.Seq, Request: j.Request, ReplyTo: j.ReplyTo, Depth: j.Depth, Chain: j.Chain, Pinned: j.Pinned,
	}
	if j.Millis/1000 == j.Timestamp && j.Millis != 0 {
		e.At = time.UnixMilli(j.Millis).UTC()
	}
	if j.Expires != nil {
		e.ExpiresAt = *j.Expires
	}
	if j.Meta != nil {
		e.Meta = *j.Meta
	}
	e.Meta.ToolCallID, e.Meta.Usage, e.Meta.Reasoning = j.CallID, j.Usage, j.Reasoning
	return nil
}
