package llmtest

import (
	"time"
)

// Script is an answer as a list of actions.
type Script []Action

// Action is one thing that a server does while it answers. Make one with the
// functions below.
type Action struct {
	kind   actionKind
	text   []string
	id     string
	name   string
	status int
	wait   <-chan struct{}
	delay  time.Duration
	n      [4]int64
	cost   float64
	calls  []ToolCall
}

type actionKind int

const (
	actText actionKind = iota + 1
	actReasoning
	actCall
	actWhole
	actUsage
	actStop
	actWait
	actDelay
	actStall
	actCut
	actOpen
	actNoDone
	actRaw
	actComment
	actStatus
	actError
	actRefusal
)

// ToolCall is a tool call that a server makes.
type ToolCall struct {
	ID, Name, Args string
}

// Text sends text, one event per chunk.
func Text(chunks ...string) Action { return Action{kind: actText, text: chunks} }

// Reasoning sends reasoning, one event per chunk. On the Anthropic wire the
// block is signed "sig".
func Reasoning(chunks ...string) Action { return Action{kind: actReasoning, text: chunks} }

// Call sends a tool call whose arguments come in pieces.
func Call(id, name string, args ...string) Action {
	return Action{kind: actCall, id: id, name: name, text: args}
}

// Whole sends text and calls in one message instead of deltas (OpenAI wire; on the
// Anthropic wire, one event per block).
func Whole(text string, calls ...ToolCall) Action {
	return Action{kind: actWhole, text: []string{text}, calls: calls}
}

// Refusal sends the words of a refusal and ends the answer with that reason.
func Refusal(words string) Action { return Action{kind: actRefusal, text: []string{words}} }

// Usage reports tokens at the end.
func Usage(input, output int64) Action { return UsageOf(input, output, 0, 0, 0) }

// UsageOf reports tokens at the end; input includes cached; cost is in dollars
// (OpenAI wire only; 0: not stated).
func UsageOf(input, output, cached, reasoning int64, cost float64) Action {
	return Action{kind: actUsage, n: [4]int64{input, output, cached, reasoning}, cost: cost}
}

// Stop sets the reason for which the answer ends, in the wire's own words; the default
// is stop, or tool calls if there were any.
func Stop(reason string) Action { return Action{kind: actStop, name: reason} }

// Wait continues when ch is closed or sends, or when the client is gone.
func Wait(ch <-chan struct{}) Action { return Action{kind: actWait, wait: ch} }

// Delay waits for d.
func Delay(d time.Duration) Action { return Action{kind: actDelay, delay: d} }

// Stall sends nothing more and keeps the connection open until the client is
// gone or the server closes.
func Stall() Action { return Action{kind: actStall} }

// Cut closes the connection in the middle of the answer.
func Cut() Action { return Action{kind: actCut} }

// Open ends the answer politely, without an end mark, but stalls instead of closing it.
func Open() Action { return Action{kind: actOpen} }

// NoDone leaves the end mark out ([DONE], message_stop).
func NoDone() Action { return Action{kind: actNoDone} }

// Raw sends bytes as they are.
func Raw(bytes string) Action { return Action{kind: actRaw, text: []string{bytes}} }

// Comment sends a keep-alive comment.
func Comment(text string) Action { return Action{kind: actComment, text: []string{text}} }

// Status answers with an HTTP status instead of a stream; it must be the first
// action. retryAfter 0: no header.
func Status(code int, message string, retryAfter time.Duration) Action {
	return Action{kind: actStatus, status: code, text: []string{message}, delay: retryAfter}
}

// Error sends an error event inside the stream and ends it. kind is the wire's
// own word (or a number, on the OpenAI wire).
func Error(kind, message string) Action {
	return Action{kind: actError, name: kind, text: []string{message}}
}
