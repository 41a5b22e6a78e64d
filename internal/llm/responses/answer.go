package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// event is any event of a stream (ResponseStreamEventUnion), or a whole response from a
// server that does not stream.
type event struct {
	Type     string          `json:"type"`
	Object   string          `json:"object"`
	Index    *int            `json:"output_index"`
	ItemID   string          `json:"item_id"`
	Item     json.RawMessage `json:"item"`
	Args     wire.Text       `json:"arguments"`
	Delta    wire.Text       `json:"delta"`
	Response json.RawMessage `json:"response"`
	Error    json.RawMessage `json:"error"`
}

// response is Response: what an answer was, at its end.
type response struct {
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage usage `json:"usage"`
}

// usage is ResponseUsage.
type usage struct {
	Input  wire.Count `json:"input_tokens"`
	Output wire.Count `json:"output_tokens"`
	In     struct {
		Cached wire.Count `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// itemFields are what is read of an item: ResponseOutputMessage, ResponseFunctionToolCall or
// ResponseReasoningItem.
type itemFields struct {
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	CallID    string    `json:"call_id"`
	Name      string    `json:"name"`
	Arguments wire.Text `json:"arguments"`
	Encrypted string    `json:"encrypted_content"`
	Content   []struct {
		Type    string    `json:"type"`
		Text    wire.Text `json:"text"`
		Refusal wire.Text `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text wire.Text `json:"text"`
	} `json:"summary"`
}

// item is one item of the answer that is still arriving.
type item struct {
	itemFields
	place int
	raw   json.RawMessage // as it was when it was done; nil: it is not
	args  wire.Joiner
	whole wire.Text // the arguments, where they came whole; they count
	shown bool      // text of it has come in pieces
}

// arguments returns the arguments of a call.
func (i *item) arguments() string {
	if i.whole != "" {
		i.args = wire.Joiner{}
		i.args.Add(i.whole)
	}
	i.args.Close()
	return cmp.Or(i.args.String(), "{}")
}

// answer gathers one streamed answer.
type answer struct {
	*wire.Call
	text, reasoning, refusal wire.Joiner
	items                    []*item
	end                      *response // nil: it has not come
	usage                    usage
	limit                    int64
	size                     int
}

// Complete reports whether the last event has come.
func (a *answer) Complete() bool { return a.end != nil }

// Take handles one event of the stream.
func (a *answer) Take(_ string, data []byte) error {
	if data == nil {
		return a.Emit(llm.KeepAlive, "")
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		if a.end != nil || bytes.HasPrefix(data, []byte("[DONE]")) {
			return wire.ErrDone
		}
		return a.Halt(a.Failure().Broken("sent something that is not an answer: %.80q", data))
	}
	if a.size += len(e.Delta) + len(e.Args); a.size > wire.MaxAnswer {
		return a.Halt(fika.Errorf(fika.Limit, wire.Op, "the answer is larger than %d MiB and was cut off", wire.MaxAnswer>>20))
	}
	switch e.Type {
	case "response.output_text.delta":
		a.itemOf(e.Index, e.ItemID, itemFields{}).shown = true
		return a.Emit(llm.TextDelta, a.text.Add(e.Delta))
	case "response.refusal.delta":
		a.itemOf(e.Index, e.ItemID, itemFields{}).shown = true
		a.refusal.Add(e.Delta)
		return a.Alive(len(e.Delta))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.itemOf(e.Index, e.ItemID, itemFields{}).shown = true
		return a.Emit(llm.ReasoningDelta, a.reasoning.Add(e.Delta))
	case "response.function_call_arguments.delta":
		a.itemOf(e.Index, e.ItemID, itemFields{}).args.Add(e.Delta)
		return a.Alive(len(e.Delta))
	case "response.function_call_arguments.done":
		i := a.itemOf(e.Index, e.ItemID, itemFields{})
		kept := len(e.Args) - i.args.Len()
		i.whole = e.Args
		return a.Alive(max(kept, 0))
	case "response.output_item.added", "response.output_item.done":
		return a.takeItem(e.Index, e.Item, e.Type == "response.output_item.done")
	case "response.completed", "response.incomplete", "response.failed":
		return a.finishWith(e.Response)
	case "error":
		if len(e.Error) == 0 {
			e.Error = data
		}
		return a.Halt(a.Failure().Stated(statusOf(e.Error), e.Error))
	case "":
		if e.Object == "response" {
			return a.finishWith(data)
		}
		if len(e.Error) > 0 {
			return a.Halt(a.Failure().Stated(statusOf(e.Error), e.Error))
		}
		return a.Halt(a.Failure().Broken("sent something that is not an answer: %.80q", data))
	}
	return a.Alive(0) // created, in_progress, … done, and kinds not known yet
}

// itemOf returns the item that an event is about, or a new one: by its id, else by its place.
// Some gateways give no ids, no places, new ids with every event, or one place to every item.
func (a *answer) itemOf(place *int, id string, f itemFields) *item {
	for _, i := range a.items {
		if id != "" && i.ID == id {
			return i
		}
	}
	for _, i := range slices.Backward(a.items) {
		if place != nil && i.place != *place {
			continue
		}
		if place == nil && id != "" && i.ID != "" || i.raw != nil && f.Type != "" && (f.Type != i.Type || f.CallID != i.CallID) {
			break // another one at this place
		}
		return i
	}
	i := &item{place: len(a.items)}
	if i.ID = id; place != nil {
		i.place = *place
	}
	a.items = append(a.items, i)
	a.size += 256 // what an empty one takes
	return i
}

// takeItem reads an item as it begins, or as it is in the end. What its deltas have brought
// is not taken twice, but arguments that come whole count.
func (a *answer) takeItem(place *int, raw json.RawMessage, done bool) error {
	var f itemFields
	if err := json.Unmarshal(raw, &f); err != nil {
		return a.Halt(a.Failure().Broken("sent an item that cannot be read"))
	}
	i := a.itemOf(place, f.ID, f)
	if i.raw != nil {
		return nil
	}
	if a.size += len(raw); a.size > wire.MaxAnswer {
		return a.Halt(fika.Errorf(fika.Limit, wire.Op, "the answer is larger than %d MiB and was cut off", wire.MaxAnswer>>20))
	}
	i.itemFields = f
	if !done {
		return a.Alive(0)
	}
	kept := max(len(f.Arguments)-max(i.args.Len(), len(i.whole)), 0) + len(f.Encrypted)
	i.raw, i.whole = bytes.Clone(raw), cmp.Or(f.Arguments, i.whole)
	if i.shown {
		return a.Alive(kept)
	}
	for _, s := range f.Summary {
		if err := a.Emit(llm.ReasoningDelta, a.reasoning.Add(s.Text)); err != nil {
			return err
		}
	}
	for _, c := range f.Content {
		a.refusal.Add(c.Refusal)
		kind, into := llm.TextDelta, &a.text
		if c.Type == "reasoning_text" {
			kind, into = llm.ReasoningDelta, &a.reasoning
		}
		if err := a.Emit(kind, into.Add(c.Text)); err != nil {
			return err
		}
	}
	return a.Alive(kept)
}

// finishWith reads the response as it is at its end, with the items that have not come
// before.
func (a *answer) finishWith(raw json.RawMessage) error {
	var r response
	if err := json.Unmarshal(raw, &r); err != nil {
		return a.Halt(a.Failure().Broken("sent a response that cannot be read"))
	}
	a.usage = r.Usage
	if r.Status == "failed" || r.Status == "cancelled" {
		return a.Halt(a.Failure().Stated(statusOf(r.Error), r.Error))
	}
	missing := len(a.items) < len(r.Output) || slices.ContainsFunc(a.items, func(i *item) bool { return i.raw == nil })
	for i, raw := range r.Output {
		if !missing {
			break
		}
		if err := a.takeItem(&i, raw, true); err != nil {
			return err
		}
	}
	a.end = &r
	return wire.ErrDone
}

// statusOf returns the HTTP status that an error in a stream corresponds to:
// ResponseErrorCode.
func statusOf(raw json.RawMessage) int {
	var e struct {
		Code wire.Text `json:"code"`
		Type wire.Text `json:"type"`
	}
	_ = json.Unmarshal(raw, &e)
	switch cmp.Or(e.Code, e.Type) {
	case "rate_limit_exceeded", "insufficient_quota", "rate_limit_error":
		return 429
	case "server_error", "vector_store_timeout", "":
		return 500
	case "overloaded_error", "overloaded":
		return 529
	case "invalid_api_key", "authentication_error":
		return 401
	case "429":
		return 429
	}
	if len(e.Code) == 3 && e.Code[0] == '5' {
		return 500
	}
	return 400
}

// Finish returns the response of a complete answer.
func (a *answer) Finish() (llm.Response, error) {
	if a.end == nil {
		return llm.Response{}, a.Failure().Broken("the stream ended before the answer was complete")
	}
	a.refusal.Close()
	if err := a.Emit(llm.ReasoningDelta, a.reasoning.Close()); err != nil {
		return llm.Response{}, err
	}
	if err := a.Emit(llm.TextDelta, a.text.Close()); err != nil {
		return llm.Response{}, err
	}
	r := llm.Response{Text: a.text.String(), Reasoning: a.reasoning.String(), MaxTokens: a.limit}
	r.Stop, r.StopText = a.stop()
	kept := blob{Role: "assistant"}
	whole := true // every thought can go back
	taken := map[string]bool{}
	slices.SortStableFunc(a.items, func(x, y *item) int { return cmp.Compare(x.place, y.place) })
	for _, i := range a.items {
		if i.Type == "function_call" {
			id := i.CallID
			for n := len(r.Calls) + 1; id == "" || taken[id]; n++ {
				id = fmt.Sprintf("call_%d", n)
			}
			taken[id] = true
			whole = whole && id == i.CallID
			r.Calls = append(r.Calls, llm.Call{ID: id, Name: i.Name, Args: i.arguments()})
		}
		whole = whole && i.raw != nil && (i.Type != "reasoning" || i.Encrypted != "")
		kept.Output = append(kept.Output, i.raw)
	}
	r.Usage = a.Usage(a.Reported(), r)
	if whole && len(kept.Output) > 0 && r.Stop == llm.StopEnd {
		r.Blob, _ = json.Marshal(kept)
	}
	return r, nil
}

// stop returns why the answer ended: ResponseStatus and ResponseIncompleteDetails.
func (a *answer) stop() (llm.Stop, string) {
	switch {
	case a.end.Status == "incomplete" && a.end.Incomplete.Reason == "max_output_tokens":
		return llm.StopLength, ""
	case a.end.Status == "incomplete" && a.end.Incomplete.Reason == "content_filter":
		return llm.StopFilter, ""
	case a.end.Status != "completed": // also "max_messages" and "steered", which nothing here asks for
		return llm.StopUnknown, cmp.Or(a.end.Incomplete.Reason, a.end.Status)
	case a.refusal.Len() > 0:
		return llm.StopRefusal, a.refusal.String()
	}
	return llm.StopEnd, ""
}

// Reported implements [wire.Answer].
func (a *answer) Reported() wire.Report {
	u := a.usage
	return wire.Report{Input: u.Input, Output: u.Output, Cached: u.In.Cached, Reasoning: u.Out.Reasoning}
}
