package acp

import "encoding/json"

// protocolVersion is the one version that is spoken.
const protocolVersion = 1

// The codes of errors.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeCancelled      = -32800
	codeNoResource     = -32002
)

// message is a line in either direction.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *problem        `json:"error,omitempty"`
}

// problem is an error as the protocol has it.
type problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (p *problem) Error() string { return p.Message }

func invalid(why string) *problem { return &problem{codeInvalidParams, why} }

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type initialized struct {
	ProtocolVersion int            `json:"protocolVersion"`
	Capabilities    capabilities   `json:"agentCapabilities"`
	Info            implementation `json:"agentInfo"`
	AuthMethods     []struct{}     `json:"authMethods"`
}

type capabilities struct {
	LoadSession bool `json:"loadSession"`
	Prompt      struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	Session struct {
		List   struct{} `json:"list"`
		Resume struct{} `json:"resume"`
		Close  struct{} `json:"close"`
	} `json:"sessionCapabilities"`
}

// sessionParams are the parameters of every method about a session.
type sessionParams struct {
	SessionID string            `json:"sessionId"`
	Cwd       string            `json:"cwd"`
	Servers   []json.RawMessage `json:"mcpServers"`
	Cursor    string            `json:"cursor"`
	Prompt    []block           `json:"prompt"`
	ConfigID  string            `json:"configId"`
	Value     json.RawMessage   `json:"value"`
}

type sessionResult struct {
	SessionID string         `json:"sessionId,omitempty"`
	Options   []configOption `json:"configOptions"`
}

type configOption struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	About    string        `json:"description,omitempty"`
	Type     string        `json:"type"`
	Current  string        `json:"currentValue"`
	Possible []configValue `json:"options"`
}

type configValue struct {
	Value string `json:"value"`
	Name  string `json:"name"`
	About string `json:"description,omitempty"`
}

type sessionList struct {
	Sessions []sessionInfo `json:"sessions"`
	Next     string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	ID      string `json:"sessionId"`
	Cwd     string `json:"cwd"`
	Title   string `json:"title,omitempty"`
	Updated string `json:"updatedAt,omitempty"`
}

type prompted struct {
	Stop string `json:"stopReason"`
}

// The reasons for which a turn ends.
const (
	endTurn      = "end_turn"
	maxRequests  = "max_turn_requests"
	turnCanceled = "cancelled"
)

// block is a piece of a prompt or of a message.
type block struct {
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

func text(s string) textBlock { return textBlock{"text", s} }

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type notification struct {
	SessionID string `json:"sessionId"`
	Update    update `json:"update"`
}

// update is what a client is told of a session. What a kind does not have is left out.
type update struct {
	Kind       string          `json:"sessionUpdate,omitempty"`
	MessageID  string          `json:"messageId,omitempty"`
	Content    any             `json:"content,omitempty"` // a block, or of a tool call a list
	ToolCallID string          `json:"toolCallId,omitempty"`
	Title      string          `json:"title,omitempty"`
	ToolKind   string          `json:"kind,omitempty"`
	Status     string          `json:"status,omitempty"`
	Locations  []location      `json:"locations,omitempty"`
	Input      json.RawMessage `json:"rawInput,omitempty"`
	Entries    []planEntry     `json:"entries,omitzero"`
	Commands   []command       `json:"availableCommands,omitempty"`
	Options    []configOption  `json:"configOptions,omitempty"`
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type toolContent struct {
	Type    string     `json:"type"` // content or diff
	Content *textBlock `json:"content,omitempty"`
	Path    string     `json:"path,omitempty"`
	Old     *string    `json:"oldText,omitempty"`
	New     *string    `json:"newText,omitempty"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

type command struct {
	Name  string        `json:"name"`
	About string        `json:"description"`
	Input *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

type permissionAsk struct {
	SessionID string   `json:"sessionId"`
	ToolCall  update   `json:"toolCall"`
	Options   []option `json:"options"`
}

type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type permissionAnswer struct {
	Outcome struct {
		Outcome string `json:"outcome"`
		Option  string `json:"optionId"`
	} `json:"outcome"`
}
