package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// answer gathers one streamed answer.
type answer struct {
	*wire.Call

	blocks  map[int]*block // those that still grow, and the last of those that do not
	order   []*block
	reason  string
	refusal string // why the model declined, if the API says so
	usage   usage
	limit   int64 // the output limit that was sent
	size    int
}

// block is one content block that is still arriving.
type block struct {
	kind      string
	id        string
	name      string
	start     json.RawMessage // as it began; kinds not known here have nothing else
	input     json.RawMessage // as given at the start
	text      wire.Joiner     // text, thinking, or the JSON of a call's input
	signature string
	stopped   bool
}

// Complete reports whether the stop reason has arrived.
func (a *answer) Complete() bool { return a.reason != "" }

// Take handles one event of the stream.
func (a *answer) Take(_ string, data []byte) error {
	if data == nil {
		return a.Emit(llm.KeepAlive, "")
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		if a.reason != "" || bytes.HasPrefix(data, []byte("[DONE]")) {
			return wire.ErrDone
		}
		return a.Halt(a.Failure().Broken("sent something that is not an answer: %.80q", data))
	}
	switch e.Type {
	case "error":
		return a.Halt(a.Failure().Stated(statusOf(e.Error), data))
	case "message_start":
		return a.readStart(e.Message)
	case "content_block_start":
		return a.startBlock(e.Index, e.Block)
	case "content_block_delta":
		return a.addDelta(e.Index, e.Delta)
	case "content_block_stop":
		if b := a.blocks[e.Index]; b != nil {
			b.stopped = true
		}
		return a.Emit(llm.KeepAlive, "")
	case "message_delta":
		a.usage.updateFrom(e.Usage)
		if e.Delta.StopReason != "" {
			a.reason, a.refusal = string(e.Delta.StopReason), e.Delta.StopDetails.Explanation
			a.Arm()
		}
		return nil
	case "message_stop":
		if a.reason == "" {
			a.reason = "end_turn"
		}
		return wire.ErrDone
	case "message":
		return a.readWhole(e)
	case "":
		if len(e.Error) > 0 {
			return a.Halt(a.Failure().Stated(statusOf(e.Error), data))
		}
	}
	return a.Emit(llm.KeepAlive, "") // ping, and kinds not known yet
}

// readStart reads the usage in the first event.
func (a *answer) readStart(raw json.RawMessage) error {
	var m struct {
		Usage *usage `json:"usage"`
	}
	if json.Unmarshal(raw, &m) == nil {
		a.usage.updateFrom(m.Usage)
	}
	return nil
}

// readWhole reads a message from a server that did not stream.
func (a *answer) readWhole(e event) error {
	for i, raw := range e.Content {
		if err := a.startBlock(i, raw); err != nil {
			return err
		}
	}
	a.usage.updateFrom(e.Usage)
	a.reason, a.refusal = string(e.StopReason), e.StopDetails.Explanation
	if a.reason == "" {
		a.reason = "end_turn"
	}
	return wire.ErrDone
}

func (a *answer) startBlock(index int, raw json.RawMessage) error {
	var s struct {
		Type      string          `json:"type"`
		ID        wire.Text       `json:"id"`
		Name      string          `json:"name"`
		Text      wire.Text       `json:"text"`
		Thinking  wire.Text       `json:"thinking"`
		Signature string          `json:"signature"`
		Input     json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return a.Halt(a.Failure().Broken("sent a block that cannot be read"))
	}
	b := &block{kind: s.Type, id: string(s.ID), name: s.Name, start: bytes.Clone(raw), input: bytes.Clone(s.Input), signature: s.Signature}
	switch was := a.blocks[index]; {
	case was == nil, was.stopped: // some servers count every block from zero
	case was.kind == "tool_use" && was.kind == b.kind && was.id == b.id:
		return nil
	default:
		return a.Halt(a.Failure().Broken("sent block %d twice", index))
	}
	a.addBlock(index, b)
	a.size += len(raw)
	switch s.Type {
	case "text":
		return a.growBlock(b, llm.TextDelta, s.Text)
	case "thinking":
		return a.growBlock(b, llm.ReasoningDelta, s.Thinking)
	}
	if err := a.growBlock(b, llm.Alive, ""); err != nil {
		return err
	}
	return a.Alive(len(s.Input) + len(s.Signature))
}

func (a *answer) addBlock(index int, b *block) {
	a.blocks[index] = b
	a.order = append(a.order, b)
	a.size += 256 // what an empty one takes
}

func (a *answer) addDelta(index int, d delta) error {
	b := a.blocks[index]
	if kind := strings.TrimSuffix(d.Type, "_delta"); b == nil && (kind == "text" || kind == "thinking") {
		b = &block{kind: kind} // some servers leave out the beginning
		a.addBlock(index, b)
	}
	if b == nil {
		return a.Halt(a.Failure().Broken("sent a piece of block %d, which never began", index))
	}
	switch {
	case d.Type == "text_delta" && b.kind == "text":
		return a.growBlock(b, llm.TextDelta, d.Text)
	case d.Type == "thinking_delta" && b.kind == "thinking":
		return a.growBlock(b, llm.ReasoningDelta, d.Thinking)
	case d.Type == "signature_delta":
		b.signature += d.Signature
		a.size += len(d.Signature)
		if err := a.growBlock(b, llm.Alive, ""); err != nil {
			return err
		}
		return a.Alive(len(d.Signature))
	case d.Type == "input_json_delta":
		return a.growBlock(b, llm.Alive, d.JSON)
	}
	return a.Alive(0)
}

// growBlock adds to a block and emits the addition; with kind Alive it shows nothing.
func (a *answer) growBlock(b *block, kind llm.EventKind, piece wire.Text) error {
	a.size += len(piece)
	if a.size > wire.MaxAnswer {
		return a.Halt(fika.Errorf(fika.Limit, wire.Op, "the answer is larger than %d MiB and was cut off", wire.MaxAnswer>>20))
	}
	shown := b.text.Add(piece)
	if kind == llm.Alive {
		return a.Alive(len(piece))
	}
	return a.Emit(kind, shown)
}

// Reported implements [wire.Answer].
func (a *answer) Reported() wire.Report { return a.usage.report() }

// Finish returns the response of a complete answer.
func (a *answer) Finish() (llm.Response, error) {
	if a.reason == "" {
		return llm.Response{}, a.Failure().Broken("the stream ended before the answer was complete")
	}
	r := llm.Response{MaxTokens: a.limit}
	r.Stop, r.StopText = stopOf(a.reason)
	message := rawMessage{Role: "assistant"}
	taken := map[string]bool{}
	for _, b := range a.order {
		if err := a.closeBlock(b); err != nil {
			return llm.Response{}, err
		}
		b.nameCall(len(r.Calls)+1, taken)
		b.fillResponse(&r)
		if raw := b.raw(); raw != nil {
			message.Content = append(message.Content, raw)
		}
	}
	if r.Stop == llm.StopRefusal {
		r.StopText = cmp.Or(a.refusal, r.Text)
	}
	r.Usage = a.Usage(a.usage.report(), r)
	if len(message.Content) > 0 {
		if raw, err := json.Marshal(message); err == nil {
			r.Blob = raw
		}
	}
	return r, nil
}

// closeBlock emits the halves of characters that were never completed.
func (a *answer) closeBlock(b *block) error {
	rest := b.text.Close()
	switch b.kind {
	case "text":
		return a.Emit(llm.TextDelta, rest)
	case "thinking":
		return a.Emit(llm.ReasoningDelta, rest)
	}
	return nil
}

// nameCall gives a call an id of its own if it has none, or one already taken.
func (b *block) nameCall(n int, taken map[string]bool) {
	if b.kind != "tool_use" {
		return
	}
	for b.id == "" || taken[b.id] {
		b.id = fmt.Sprintf("call_%d", n)
		n++
	}
	taken[b.id] = true
}

// fillResponse adds a block to the response.
func (b *block) fillResponse(r *llm.Response) {
	switch b.kind {
	case "text":
		r.Text += b.text.String()
	case "thinking":
		r.Reasoning += b.text.String()
	case "tool_use":
		r.Calls = append(r.Calls, llm.Call{ID: b.id, Name: b.name, Args: b.callArgs()})
	}
}

func (b *block) callArgs() string {
	if b.text.Len() > 0 {
		return b.text.String()
	}
	if isObject(b.input) {
		return string(b.input)
	}
	if text := ""; json.Unmarshal(b.input, &text) == nil && text != "" {
		return text
	}
	return "{}"
}

// raw returns the block as it must be sent back; nil: it must not be.
func (b *block) raw() json.RawMessage {
	text := b.text.String()
	switch b.kind {
	case "text":
		if orPlaceholder(text) != text {
			return nil
		}
		return textBlock(text)
	case "thinking":
		return rawBlock{Type: "thinking", Thinking: &text, Signature: &b.signature}.raw()
	case "tool_use":
		input := json.RawMessage(b.callArgs())
		if !isObject(input) {
			input = json.RawMessage("{}") // cut off; never executed, but the history must stay readable
		}
		return rawBlock{Type: "tool_use", ID: b.id, Name: b.name, Input: input}.raw()
	}
	if b.kind == "" {
		return nil
	}
	return slices.Clone(b.start)
}

// stopOf returns why an answer ended, and the API's word if it is not known here: StopReason
// in anthropic-sdk-go v1.84.0 (message.go).
func stopOf(reason string) (llm.Stop, string) {
	switch reason {
	case "end_turn", "stop_sequence", "tool_use":
		return llm.StopEnd, ""
	case "max_tokens":
		return llm.StopLength, ""
	case "model_context_window_exceeded":
		return llm.StopWindow, ""
	case "refusal":
		return llm.StopRefusal, ""
	case "pause_turn":
		return llm.StopPause, ""
	}
	return llm.StopUnknown, reason
}
