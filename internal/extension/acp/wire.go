package acp

import "encoding/json"

// ProtocolVersion is the one version that is spoken.
const ProtocolVersion = 1

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Initialize is the first request of a client. What a client offers besides is nothing: it
// neither serves files nor runs commands.
type Initialize struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Capabilities    ClientCapabilities `json:"clientCapabilities"`
	Info            Implementation     `json:"clientInfo"`
}

// ClientCapabilities are what a client does for an agent.
type ClientCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

// Initialized answers it.
type Initialized struct {
	ProtocolVersion int            `json:"protocolVersion"`
	Capabilities    Capabilities   `json:"agentCapabilities"`
	Info            Implementation `json:"agentInfo"`
	AuthMethods     []AuthMethod   `json:"authMethods"`
}

// AuthMethod is a way to log in.
type AuthMethod struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	About string `json:"description,omitempty"`
}

// Capabilities are what an agent can do. A pointer that is nil says no.
type Capabilities struct {
	LoadSession bool `json:"loadSession"`
	Prompt      struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCP struct {
		HTTP bool `json:"http"`
	} `json:"mcpCapabilities"`
	Session struct {
		List   *struct{} `json:"list,omitempty"`
		Resume *struct{} `json:"resume,omitempty"`
		Close  *struct{} `json:"close,omitempty"`
	} `json:"sessionCapabilities"`
}

// SessionParams are the parameters of every method about a session.
type SessionParams struct {
	SessionID string            `json:"sessionId,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	Servers   []json.RawMessage `json:"mcpServers,omitzero"` // not nil where a session is opened
	Cursor    string            `json:"cursor,omitempty"`
	Prompt    []Block           `json:"prompt,omitempty"`
	ConfigID  string            `json:"configId,omitempty"`
	Value     json.RawMessage   `json:"value,omitempty"`
	ModeID    string            `json:"modeId,omitempty"`
}

// SessionResult says how a session was opened.
type SessionResult struct {
	SessionID string         `json:"sessionId,omitempty"`
	Options   []ConfigOption `json:"configOptions"`
	Modes     *Modes         `json:"modes,omitempty"`
}

// Modes are what an agent may be told to work in.
type Modes struct {
	Current   string `json:"currentModeId"`
	Available []Mode `json:"availableModes"`
}

// Mode is one of them.
type Mode struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ConfigOption is a choice that an agent offers for a session.
type ConfigOption struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	About    string        `json:"description,omitempty"`
	Type     string        `json:"type"`
	Current  string        `json:"currentValue"`
	Possible []ConfigValue `json:"options"`
}

// ConfigValue is one of the values of a [ConfigOption].
type ConfigValue struct {
	Value string `json:"value"`
	Name  string `json:"name"`
	About string `json:"description,omitempty"`
}

// SessionList is a page of sessions.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
	Next     string        `json:"nextCursor,omitempty"`
}

// SessionInfo is a session in a list.
type SessionInfo struct {
	ID      string `json:"sessionId"`
	Cwd     string `json:"cwd"`
	Title   string `json:"title,omitempty"`
	Updated string `json:"updatedAt,omitempty"`
}

// Prompted says how a turn has ended.
type Prompted struct {
	Stop  string `json:"stopReason"`
	Usage *Usage `json:"usage,omitempty"` // not in version 1 as published; several agents send it
	Meta  struct {
		Quota struct {
			Tokens *struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta,omitzero"` // where Gemini CLI says it
}

// Usage counts the tokens of a turn.
type Usage struct {
	Input   int64 `json:"inputTokens"`
	Output  int64 `json:"outputTokens"`
	Cached  int64 `json:"cachedReadTokens"`
	Written int64 `json:"cachedWriteTokens"`
	Thought int64 `json:"thoughtTokens"`
}

// Cost is money that a session has cost so far.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// The reasons for which a turn ends.
const (
	EndTurn     = "end_turn"
	MaxTokens   = "max_tokens"
	Refusal     = "refusal"
	MaxRequests = "max_turn_requests"
	Cancelled   = "cancelled"
)

// Block is a piece of a prompt or of a message.
type Block struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	URI      string `json:"uri,omitempty"`
	Name     string `json:"name,omitempty"`
	Resource *struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
		Blob string `json:"blob"`
	} `json:"resource,omitempty"`
}

// Text returns a block of text.
func Text(s string) TextBlock { return TextBlock{"text", s} }

// TextBlock is a [Block] of text.
type TextBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Notification tells a client of a session.
type Notification struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
}

// Update is what a client is told of a session. What a kind does not have is left out.
type Update struct {
	Kind       string          `json:"sessionUpdate,omitempty"`
	MessageID  string          `json:"messageId,omitempty"`
	Content    any             `json:"content,omitempty"` // a block, or of a tool call a list
	ToolCallID string          `json:"toolCallId,omitempty"`
	Title      string          `json:"title,omitempty"`
	Name       string          `json:"name,omitempty"` // of a tool
	ToolKind   string          `json:"kind,omitempty"`
	Status     string          `json:"status,omitempty"`
	Locations  []Location      `json:"locations,omitempty"`
	Input      json.RawMessage `json:"rawInput,omitempty"`
	Output     json.RawMessage `json:"rawOutput,omitempty"`
	Entries    []PlanEntry     `json:"entries,omitzero"`
	Commands   []Command       `json:"availableCommands,omitempty"`
	Options    []ConfigOption  `json:"configOptions,omitempty"`
	Cost       *Cost           `json:"cost,omitempty"` // of the whole session
}

// The kinds of update that a client takes from an agent.
const (
	UserChunk    = "user_message_chunk"
	MessageChunk = "agent_message_chunk"
	ThoughtChunk = "agent_thought_chunk"
	ToolCall     = "tool_call"
	ToolUpdate   = "tool_call_update"
	Plan         = "plan"
	UsageUpdate  = "usage_update"
)

// The states of a tool call.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Completed  = "completed"
	Failed     = "failed"
)

// Contents returns the pieces of a tool call.
func (u Update) Contents() (list []ToolContent) {
	if typed, ok := u.Content.([]ToolContent); ok {
		return typed
	}
	u.read(&list)
	return list
}

// Said returns the text of a chunk of a message or thought; "" if it has none.
func (u Update) Said() string {
	var b Block
	if typed, ok := u.Content.(TextBlock); ok {
		return typed.Text
	}
	u.read(&b)
	return b.Text
}

// read reads content that came over the wire. What is not of that kind is left out.
func (u Update) read(into any) {
	if raw, err := json.Marshal(u.Content); err == nil {
		_ = json.Unmarshal(raw, into)
	}
}

// Location is a place in a file.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// ToolContent is a piece of what a tool call shows.
type ToolContent struct {
	Type    string     `json:"type"` // content or diff
	Content *TextBlock `json:"content,omitempty"`
	Path    string     `json:"path,omitempty"`
	Old     *string    `json:"oldText,omitempty"`
	New     *string    `json:"newText,omitempty"`
}

// PlanEntry is a thing to do.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// Command is what may stand after a slash.
type Command struct {
	Name  string        `json:"name"`
	About string        `json:"description"`
	Input *CommandInput `json:"input,omitempty"`
}

// CommandInput describes what follows a [Command].
type CommandInput struct {
	Hint string `json:"hint"`
}

// PermissionAsk asks whether a tool may be called.
type PermissionAsk struct {
	SessionID string   `json:"sessionId"`
	ToolCall  Update   `json:"toolCall"`
	Options   []Option `json:"options"`
}

// Option is one of the answers to it.
type Option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// The kinds of [Option] that are ever chosen: those that hold once.
const (
	AllowOnce  = "allow_once"
	RejectOnce = "reject_once"
)

// Selected is the outcome of a permission that is answered by an option; the other is
// [Cancelled].
const Selected = "selected"

// PermissionAnswer answers it.
type PermissionAnswer struct {
	Outcome struct {
		Outcome string `json:"outcome"`
		Option  string `json:"optionId,omitempty"`
	} `json:"outcome"`
}
