package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"fika"
	"fika/internal/store"
)

// history is a generated conversation, as turns leave it in the store: agents work at
// the same time, people speak meanwhile, turns are cancelled between a call and its
// result, compactions keep single entries, four providers made the answers, and their call
// ids repeat. It implements [turn.History].
type history struct {
	rand    *rand.Rand
	kind    fika.ConversationKind
	entries []fika.Entry // entry i has seq i+1
	blobs   map[fika.EntryID]json.RawMessage
	working []*generatedTurn
	turns   int
}

// generatedTurn is an agent at work on one request.
type generatedTurn struct {
	agent   string
	request fika.RequestID
	upto    int64
	left    int      // rounds until the end
	open    []string // calls without a result
	states  int
	began   bool // it has answered
}

// models that made the answers; each blob is in the wire format of one of them.
var historyModels = []string{"openai", "anthropic", "responses", "gemini", "plain"}

// newHistory generates a conversation of about n entries in which the agent arya is at
// work on the last request.
func newHistory(seed uint64, n int) (*history, store.Claimed, []fika.Entry) {
	h := &history{rand: rand.New(rand.NewPCG(seed, 7)), kind: fika.Chat, blobs: map[fika.EntryID]json.RawMessage{}}
	agents := []string{"arya", "bob", "cleo"}
	if seed%3 == 0 {
		h.kind, agents = fika.Ask, agents[:1]
	}
	h.say("ann")
	for len(h.entries) < n {
		switch k := h.rand.IntN(20); {
		case k < 3:
			h.say("ann")
		case k == 3 && len(h.entries) > 4:
			h.compact()
		case k == 9 && len(h.entries) > 4 && h.rand.IntN(3) == 0:
			h.rewind()
		case k < 9:
			agent := agents[h.rand.IntN(len(agents))]
			if !slices.ContainsFunc(h.working, func(t *generatedTurn) bool { return t.agent == agent }) {
				h.begin(agent)
			}
		case len(h.working) > 0:
			h.work(h.working[h.rand.IntN(len(h.working))])
		}
	}
	h.working = slices.DeleteFunc(h.working, func(t *generatedTurn) bool { return t.agent == "arya" })
	if h.rand.IntN(3) > 0 {
		h.say("ann")
	}
	last := h.begin("arya")
	for range h.rand.IntN(4) { // rounds whose calls all have results
		last.left, last.open = 5, nil
		h.answer(last)
		h.say("ann")
		for len(last.open) > 0 {
			h.result(last)
		}
		if h.rand.IntN(3) == 0 {
			h.steer(last)
		}
	}
	c := store.Claimed{
		Agent:        fika.Agent{Name: "arya"},
		Conversation: fika.Conversation{ID: "c", Kind: h.kind},
		Request:      fika.Request{ID: last.request, Kind: fika.NotifyRequest, UptoSeq: last.upto},
	}
	if h.kind == fika.Ask {
		c.Request.Kind = fika.AskRequest
	}
	c.Fence.Request = last.request
	var own []fika.Entry
	for _, e := range h.entries {
		if e.Request == last.request {
			own = append(own, e)
		}
	}
	return h, c, own
}

func (h *history) add(e fika.Entry) *fika.Entry {
	e.Seq, e.Conversation = int64(len(h.entries)+1), "c"
	e.ID = fika.EntryID(fmt.Sprintf("e%d", e.Seq))
	h.entries = append(h.entries, e)
	return &h.entries[len(h.entries)-1]
}

func (h *history) say(who string) {
	h.add(fika.Entry{Type: fika.Message, From: who, To: "arya", Content: fmt.Sprintf("@arya point %d", len(h.entries)), Meta: fika.EntryMeta{Writer: fika.ByHuman}})
}

func (h *history) compact() {
	meta := fika.EntryMeta{Writer: fika.BySystem, UpTo: int64(1 + h.rand.IntN(len(h.entries)))}
	for seq := range meta.UpTo {
		if h.rand.IntN(6) == 0 {
			meta.Kept = append(meta.Kept, seq+1)
		}
	}
	h.add(fika.Entry{Type: fika.Compaction, From: "system", Content: "what was said", Meta: meta})
}

// rewind takes a part of the conversation out, at rest, or puts back what the last one took.
func (h *history) rewind() {
	for len(h.working) > 0 {
		h.interrupt(h.working[0])
		h.end(h.working[0])
	}
	e := fika.Entry{Type: fika.Rewind, From: "ann", Content: "went back"}
	if last := fika.NewestRewind(h.entries); last != nil && h.rand.IntN(2) == 0 {
		e.Meta.Undo = last.Seq
	} else {
		e.Meta.Cut = fika.Cut{From: int64(1 + h.rand.IntN(len(h.entries))), To: int64(len(h.entries))}
	}
	h.add(e)
}

func (h *history) begin(agent string) *generatedTurn {
	h.turns++
	t := &generatedTurn{agent: agent, request: fika.RequestID(fmt.Sprintf("r%d", h.turns)), upto: int64(len(h.entries)), left: 1 + h.rand.IntN(4)}
	h.working = append(h.working, t)
	if h.kind == fika.Ask && h.rand.IntN(5) > 0 { // else it goes on from an interrupted one
		h.add(fika.Entry{Type: fika.Message, From: "ann", To: agent, Request: t.request, Content: "do it", Meta: fika.EntryMeta{Writer: fika.ByHuman}})
	}
	return t
}

// work makes the next step of a turn: a result, an answer, or its end in the middle.
func (h *history) work(t *generatedTurn) {
	switch {
	case h.rand.IntN(12) == 0:
		h.end(t)
		if h.rand.IntN(2) == 0 {
			h.interrupt(t)
		}
	case len(t.open) == 0 && h.rand.IntN(8) == 0:
		h.steer(t)
	case len(t.open) > 0:
		h.result(t)
	default:
		if t.left--; t.left <= 0 {
			t.left = 0
		}
		h.answer(t)
		if t.left == 0 {
			h.end(t)
		}
	}
}

// steer adds what a person says to a turn under way.
func (h *history) steer(t *generatedTurn) {
	h.add(fika.Entry{Type: fika.Message, From: "ann", To: t.agent, Request: t.request, Content: fmt.Sprintf("@%s and point %d", t.agent, len(h.entries)),
		Meta: fika.EntryMeta{Writer: fika.ByHuman}})
}

// interrupt adds what is left of a turn that a person has cut off.
func (h *history) interrupt(t *generatedTurn) {
	if h.rand.IntN(2) == 0 {
		h.add(fika.Entry{Type: fika.Message, From: t.agent, Request: t.request, Content: "I was about", Meta: fika.EntryMeta{Writer: fika.ByAgent, WriterName: t.agent}})
	}
	n := fika.Entry{Type: fika.Notice, From: "system", Request: t.request, Content: "interrupted by ann",
		Meta: fika.EntryMeta{Writer: fika.BySystem, Kind: string(fika.Interrupted), WriterName: t.agent}}
	if t.upto > 0 {
		n.ReplyTo = h.entries[t.upto-1].ID
	}
	h.add(n)
}

func (h *history) end(t *generatedTurn) {
	h.working = slices.DeleteFunc(h.working, func(o *generatedTurn) bool { return o == t })
}

func (h *history) result(t *generatedTurn) {
	i := h.rand.IntN(len(t.open))
	h.add(fika.Entry{Type: fika.ToolResult, From: "look", To: t.agent, Request: t.request, Content: "seen",
		Meta: fika.EntryMeta{ToolCallID: t.open[i], IsError: h.rand.IntN(5) == 0}})
	t.open = slices.Delete(t.open, i, i+1)
}

// answer adds a model's answer: text, calls or both; the last one of a turn has text
// alone.
func (h *history) answer(t *generatedTurn) {
	var said string
	calls := 0
	if t.left > 0 {
		calls = 1 + h.rand.IntN(3)
	}
	if calls == 0 || h.rand.IntN(2) == 0 {
		said = fmt.Sprintf("answer %d", len(h.entries))
	}
	var first fika.EntryID
	if said != "" {
		e := h.add(fika.Entry{Type: fika.Message, From: t.agent, Request: t.request, Content: said,
			Meta: fika.EntryMeta{Writer: fika.ByAgent, WriterName: t.agent}})
		first = e.ID
	}
	ids := make([]string, calls)
	for i := range ids {
		ids[i] = fmt.Sprintf("call_%d", i) // those of every answer, as simple servers give them
		if h.rand.IntN(2) == 0 {
			ids[i] = fmt.Sprintf("call_%d_%d", len(h.entries), i)
		}
		e := h.add(fika.Entry{Type: fika.ToolCall, From: t.agent, To: "look", Request: t.request, Content: `{"at":1}`,
			Meta: fika.EntryMeta{Writer: fika.ByAgent, WriterName: t.agent, ToolCallID: ids[i]}})
		if first == "" {
			first = e.ID
		}
	}
	t.open = slices.Clone(ids)
	h.keep(t, first, said, ids)
}

// keep stores the record of an answer, with the message as its provider made it.
func (h *history) keep(t *generatedTurn, entry fika.EntryID, said string, ids []string) {
	model := historyModels[h.rand.IntN(len(historyModels))]
	record := map[string]any{"model": model}
	if !t.began && h.kind == fika.Chat && h.rand.IntN(4) > 0 { // older versions did not keep it
		record["upto"] = t.upto
	}
	t.began = true
	if m := h.rawMessage(model, said, ids); m != nil {
		record["message"] = m
	}
	if h.rand.IntN(4) == 0 {
		t.states++
		record["state"] = fmt.Sprintf("todos: %d", t.states)
	}
	if len(ids) == 0 && t.left > 0 {
		record["rejected"] = "that is not JSON"
	}
	if len(record) == 1 {
		return // nothing to keep, as in the store
	}
	raw, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	h.blobs[entry] = raw
}

// rawMessage returns an answer as a provider made it; nil: it keeps none.
func (h *history) rawMessage(model, said string, ids []string) any {
	type object = map[string]any
	named := h.rand.IntN(2) == 0 // Gemini need not name its calls
	var parts []any
	add := func(p object) { parts = append(parts, p) }
	switch model {
	case "anthropic":
		add(object{"type": "thinking", "thinking": "hm", "signature": "s"})
	case "responses":
		add(object{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": "sealed:rs_1"})
	}
	if said != "" {
		switch model {
		case "anthropic":
			add(object{"type": "text", "text": said})
		case "responses":
			add(object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
				"content": []any{object{"type": "output_text", "text": said, "annotations": []any{}}}})
		case "gemini":
			add(object{"text": said})
		}
	}
	for i, id := range ids {
		switch model {
		case "openai":
			add(object{"id": id, "type": "function", "function": object{"name": "look", "arguments": `{"at":1}`}})
		case "anthropic":
			add(object{"type": "tool_use", "id": id, "name": "look", "input": object{"at": 1}})
		case "responses":
			add(object{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": "look", "arguments": `{"at":1}`, "status": "completed"})
		case "gemini":
			call, part := object{"name": "look", "args": object{"at": 1}}, object{}
			if named {
				call["id"] = id
			}
			if part["functionCall"] = call; i == 0 {
				part["thoughtSignature"] = "c2lnbmVk"
			}
			add(part)
		}
	}
	switch model {
	case "openai":
		m := object{"role": "assistant", "content": nil}
		if said != "" {
			m["content"] = said
		}
		if parts != nil {
			m["tool_calls"] = parts
		}
		return m
	case "anthropic":
		return object{"role": "assistant", "content": parts}
	case "responses":
		return object{"role": "assistant", "output": parts}
	case "gemini":
		return object{"role": "model", "parts": parts}
	}
	return nil
}

func (h *history) Before(_ context.Context, _ fika.ConversationID, upto int64, limit int) ([]fika.Entry, error) {
	page := slices.Clone(h.entries[max(0, int(upto)-limit):min(int(upto), len(h.entries))])
	slices.Reverse(page)
	return page, nil
}

func (h *history) OfRequest(_ context.Context, id fika.RequestID) (out []fika.Entry, _ error) {
	for _, e := range h.entries {
		if e.Request == id {
			out = append(out, e)
		}
	}
	return out, nil
}

func (h *history) Blobs(_ context.Context, entries []fika.Entry) (map[fika.EntryID]json.RawMessage, error) {
	return h.blobs, nil
}

func (h *history) Frame(_ context.Context, _ fika.ConversationID, _ fika.AgentID, upto int64) (f store.Frame, _ error) {
	f.Cuts = fika.CutsOf(h.entries)
	for i := min(upto, int64(len(h.entries))) - 1; i >= 0; i-- {
		if h.entries[i].Type == fika.Compaction && !f.Cuts.Has(int64(i+1)) {
			f.Compaction = &h.entries[i]
			break
		}
	}
	return f, nil
}
