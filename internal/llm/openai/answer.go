package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// answer gathers one streamed answer.
type answer struct {
	*wire.Call

	text, reasoning, refusal wire.Joiner
	thought                  string // the field that reasoning came in
	details                  []*detail
	calls                    []*pending
	usage                    wire.Report
	metered                  bool
	limit                    int64  // the output limit that was sent; 0: none
	finished                 string // the finish reason
	ended                    bool   // the end mark has come
	size                     int    // bytes held besides text
}

// pending is a tool call that is still arriving.
type pending struct {
	index int
	id    string
	name  string
	args  wire.Joiner
	extra json.RawMessage
}

// Complete reports whether nothing essential is missing: some servers send an end mark
// but no finish reason.
func (a *answer) Complete() bool {
	return a.finished != "" || a.ended && (a.text.Len() > 0 || a.refusal.Len() > 0 || len(a.calls) > 0)
}

// Take handles one event of the stream.
func (a *answer) Take(_ string, data []byte) error {
	if data == nil {
		return a.Emit(llm.KeepAlive, "")
	}
	data = bytes.TrimSpace(data)
	if bytes.Equal(data, []byte("[DONE]")) {
		a.ended = true
		return wire.ErrDone
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		if a.Complete() {
			return wire.ErrDone
		}
		return a.Halt(a.Failure().Broken("sent something that is not an answer: %.80q", data))
	}
	if u, ok := usageOf(c.Usage); ok {
		a.usage, a.metered = u, true
	}
	if err := a.statedError(c); err != nil {
		return a.Halt(err)
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		if err := a.addChoice(ch); err != nil {
			return err
		}
	}
	if a.finished == "" {
		return nil
	}
	if a.metered {
		return wire.ErrDone
	}
	a.Arm()
	return nil
}

// statedError returns the error that the server reports inside the stream; nil: none.
func (a *answer) statedError(c chunk) error {
	raw := c.Error
	for _, ch := range c.Choices {
		if !saysSomething(raw) {
			raw = ch.Error
		}
	}
	if saysSomething(raw) {
		return a.Failure().Stated(statusOf(raw), raw)
	}
	for _, ch := range c.Choices {
		switch ch.Finish {
		case "error":
			return a.Failure().Stated(500, nil)
		case "insufficient_system_resource": // DeepSeek: the server was interrupted
			return a.Failure().Stated(503, []byte(`{"message":"insufficient system resource"}`))
		}
	}
	return nil
}

func (a *answer) addChoice(ch choice) error {
	if ch.Delta != nil {
		if err := a.addPiece(*ch.Delta, false); err != nil {
			return err
		}
	}
	if ch.Message != nil {
		if err := a.addPiece(*ch.Message, true); err != nil {
			return err
		}
	}
	if ch.Finish != "" {
		a.finished = string(ch.Finish)
	}
	return nil
}

// addPiece adds a delta, or from a whole message only what no delta has brought.
func (a *answer) addPiece(p piece, whole bool) error {
	if !whole || a.reasoning.Len() == 0 {
		if err := a.addReasoning(p); err != nil {
			return err
		}
	}
	if p.Content != "" && (!whole || a.text.Len() == 0) {
		if err := a.Emit(llm.TextDelta, a.text.Add(p.Content)); err != nil {
			return err
		}
	}
	kept := 0
	if p.Refusal != "" && (!whole || a.refusal.Len() == 0) {
		a.refusal.Add(p.Refusal)
		kept += len(p.Refusal)
	}
	if len(p.Calls) > 0 && (!whole || len(a.calls) == 0) {
		for i, c := range p.Calls {
			a.addCall(c, i, whole)
			kept += len(c.Function.Name) + len(c.Function.Arguments)
		}
	}
	if kept > 0 || len(p.Calls) > 0 {
		if err := a.Alive(kept); err != nil {
			return err
		}
	}
	return a.checkSize()
}

// addReasoning adds reasoning, which comes as plain text, as details, or as both.
func (a *answer) addReasoning(p piece) error {
	text := p.Reasoning
	switch {
	case text != "":
		a.thought = "reasoning"
	case p.ReasoningContent != "":
		text, a.thought = p.ReasoningContent, "reasoning_content"
	}
	for _, raw := range p.ReasoningDetails {
		shown := a.addDetail(raw)
		if p.Reasoning == "" && p.ReasoningContent == "" {
			text += shown
		}
	}
	if text == "" {
		return nil
	}
	return a.Emit(llm.ReasoningDelta, a.reasoning.Add(text))
}

// addCall adds a piece of a tool call to the one it belongs to.
func (a *answer) addCall(p callPiece, position int, whole bool) {
	c := a.callOf(p, position, whole)
	if c == nil {
		c = &pending{index: len(a.calls), id: string(p.ID)}
		if p.Index != nil {
			c.index = *p.Index
		}
		a.calls = append(a.calls, c)
	}
	if c.id == "" {
		c.id = string(p.ID)
	}
	switch name := string(p.Function.Name); {
	case c.name == "":
		c.name = name
	case name != "" && name != c.name && c.args.Len() == 0:
		c.name += name
	}
	c.args.Add(p.Function.Arguments)
	if saysSomething(p.Extra) {
		c.extra = p.Extra
	}
	a.size += len(p.ID) + len(p.Function.Name) + len(p.Function.Arguments) + len(p.Extra)
}

// callOf returns the call that a piece continues; nil: it begins a new one. Some servers
// give every call of a reply the same index, some give none.
func (a *answer) callOf(p callPiece, position int, whole bool) *pending {
	id := string(p.ID)
	starts := id != "" && p.Function.Name != ""
	if whole {
		return nil
	}
	if p.Index == nil {
		for _, c := range a.calls {
			if id != "" && c.id == id {
				return c
			}
		}
		if id != "" || p.Function.Name != "" || len(a.calls) == 0 {
			return nil
		}
		return a.calls[len(a.calls)-1]
	}
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		if c.index != *p.Index {
			continue
		}
		if starts && c.id != "" && c.id != id {
			return nil
		}
		return c
	}
	return nil
}

func (a *answer) checkSize() error {
	if a.size+a.text.Len()+a.reasoning.Len()+a.refusal.Len() > wire.MaxAnswer {
		return a.Halt(fika.Errorf(fika.Limit, wire.Op, "the answer is larger than %d MiB and was cut off", wire.MaxAnswer>>20))
	}
	return nil
}

// Reported implements [wire.Answer].
func (a *answer) Reported() wire.Report { return a.usage }

// Finish returns the response of a complete answer.
func (a *answer) Finish() (llm.Response, error) {
	if !a.Complete() {
		return llm.Response{}, a.Failure().Broken("the stream ended before the answer was complete")
	}
	slices.SortStableFunc(a.calls, func(x, y *pending) int { return x.index - y.index })
	if err := a.flushHalves(); err != nil {
		return llm.Response{}, err
	}
	r := llm.Response{Text: a.text.String(), Reasoning: a.reasoning.String(), MaxTokens: a.limit}
	r.Stop, r.StopText = stopOf(a.finished)
	if refusal := a.refusal.String(); refusal != "" && r.Stop == llm.StopEnd {
		r.Stop, r.StopText = llm.StopRefusal, refusal
	}
	r.Calls = a.finishedCalls()
	r.Usage = a.Usage(a.usage, r)
	r.Blob = a.responseBlob(r)
	return r, nil
}

// flushHalves emits the halves of characters that were never completed.
func (a *answer) flushHalves() error {
	for _, c := range a.calls {
		c.args.Close()
	}
	a.refusal.Close()
	if err := a.Emit(llm.ReasoningDelta, a.reasoning.Close()); err != nil {
		return err
	}
	return a.Emit(llm.TextDelta, a.text.Close())
}

// finishedCalls gives every call a name, arguments and an id of its own.
func (a *answer) finishedCalls() []llm.Call {
	var out []llm.Call
	used := map[string]bool{}
	for _, c := range a.calls {
		used[c.id] = true
	}
	taken := map[string]bool{}
	for i, c := range a.calls {
		id := c.id
		for n := i + 1; id == "" || taken[id]; n++ {
			if fresh := fmt.Sprintf("call_%d", n); !used[fresh] {
				id = fresh
				used[fresh] = true
			}
		}
		taken[id] = true
		c.id = id
		out = append(out, llm.Call{ID: id, Name: c.name, Args: argsOrEmpty(c.args.String())})
	}
	return out
}

func (a *answer) responseBlob(r llm.Response) json.RawMessage {
	m := rawMessage{Role: "assistant", Refusal: a.refusal.String(), ReasoningDetails: a.rawDetails()}
	if r.Text != "" || len(r.Calls) == 0 {
		m.Content = &r.Text
	}
	switch {
	case a.thought == "reasoning_content":
		m.ReasoningContent = r.Reasoning
	case a.thought == "reasoning" && len(a.details) == 0:
		m.Reasoning = r.Reasoning
	}
	for i, c := range r.Calls {
		m.Calls = append(m.Calls, rawCall{ID: c.ID, Type: "function", Function: rawFunction{c.Name, c.Args}, Extra: a.calls[i].extra})
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return raw
}
