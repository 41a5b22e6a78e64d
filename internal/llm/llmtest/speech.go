package llmtest

import (
	"encoding/json"
	"strconv"
	"strings"
)

func data(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return ": " + err.Error() + "\n\n"
	}
	return "data: " + b.String() + "\n"
}

type object = map[string]any

// openAISpeech writes chat completion chunks.
type openAISpeech struct {
	model string
	calls int
	bill  object
	no    bool // refused
}

func (s *openAISpeech) chunk(choice object) string {
	choice["index"] = 0
	return data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": s.model, "choices": []any{choice}})
}

func (s *openAISpeech) delta(d object) string {
	return s.chunk(object{"delta": d, "finish_reason": nil})
}

func (s *openAISpeech) begin() string             { return s.delta(object{"role": "assistant", "content": ""}) }
func (s *openAISpeech) text(chunk string) string  { return s.delta(object{"content": chunk}) }
func (s *openAISpeech) reasoning(c string) string { return s.delta(object{"reasoning": c}) }

func (s *openAISpeech) refusal(words string) string {
	s.no = true
	return s.delta(object{"refusal": words})
}

func (s *openAISpeech) call(id, name string, pieces []string) []string {
	index := s.calls
	s.calls++
	out := []string{s.delta(object{"tool_calls": []any{object{
		"index": index, "id": id, "type": "function", "function": object{"name": name, "arguments": ""},
	}}})}
	for _, p := range pieces {
		out = append(out, s.delta(object{"tool_calls": []any{object{"index": index, "function": object{"arguments": p}}}}))
	}
	return out
}

func (s *openAISpeech) whole(text string, calls []ToolCall) []string {
	message := object{"role": "assistant", "content": text}
	var list []any
	for _, c := range calls {
		list = append(list, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
	}
	if len(list) > 0 {
		message["tool_calls"] = list
		s.calls += len(list)
	}
	return []string{s.chunk(object{"message": message, "finish_reason": nil})}
}

func (s *openAISpeech) usage(a Action) {
	s.bill = object{
		"prompt_tokens": a.n[0], "completion_tokens": a.n[1], "total_tokens": a.n[0] + a.n[1],
		"prompt_tokens_details":     object{"cached_tokens": a.n[2]},
		"completion_tokens_details": object{"reasoning_tokens": a.n[3]},
	}
	if a.cost > 0 {
		s.bill["cost"] = a.cost
	}
}

func (s *openAISpeech) end(reason string, done bool) string {
	switch {
	case reason == "refusal" || reason == "" && s.calls == 0:
		reason = "stop"
	case reason == "":
		reason = "tool_calls"
	}
	out := s.chunk(object{"delta": object{}, "finish_reason": reason})
	if s.bill != nil {
		out += data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": s.model, "choices": []any{}, "usage": s.bill})
	}
	if done {
		out += "data: [DONE]\n\n"
	}
	return out
}

func (s *openAISpeech) trouble(kind, message string) string {
	var code any = kind
	if n, err := strconv.Atoi(kind); err == nil {
		code = n
	}
	return data(object{"id": "chatcmpl-1", "error": object{"code": code, "message": message},
		"choices": []any{object{"index": 0, "delta": object{"content": ""}, "finish_reason": "error"}}})
}

// anthropicSpeech writes message events.
type anthropicSpeech struct {
	model string
	open  string // kind of the block that is open
	index int
	calls int
	n     [4]int64
}

func (s *anthropicSpeech) event(name string, v object) string {
	v["type"] = name
	return "event: " + name + "\n" + data(v)
}

func (s *anthropicSpeech) begin() string {
	return s.event("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": s.model, "content": []any{},
		"usage": object{"input_tokens": 0, "output_tokens": 1},
	}}) + s.event("ping", object{})
}

// enter opens a block of a kind unless one is already open; a tool_use block is always a
// new one.
func (s *anthropicSpeech) enter(kind string, block object) string {
	if s.open == kind && kind != "tool_use" {
		return ""
	}
	out := s.leave()
	s.open = kind
	block["type"] = kind
	return out + s.event("content_block_start", object{"index": s.index, "content_block": block})
}

func (s *anthropicSpeech) leave() string {
	if s.open == "" {
		return ""
	}
	out := ""
	if s.open == "thinking" {
		out = s.delta(object{"type": "signature_delta", "signature": "sig"})
	}
	out += s.event("content_block_stop", object{"index": s.index})
	s.open = ""
	s.index++
	return out
}

func (s *anthropicSpeech) delta(d object) string {
	return s.event("content_block_delta", object{"index": s.index, "delta": d})
}

func (s *anthropicSpeech) text(chunk string) string {
	return s.enter("text", object{"text": ""}) + s.delta(object{"type": "text_delta", "text": chunk})
}

func (s *anthropicSpeech) refusal(words string) string { return s.text(words) }

func (s *anthropicSpeech) reasoning(chunk string) string {
	return s.enter("thinking", object{"thinking": "", "signature": ""}) + s.delta(object{"type": "thinking_delta", "thinking": chunk})
}

func (s *anthropicSpeech) call(id, name string, pieces []string) []string {
	s.calls++
	out := []string{s.enter("tool_use", object{"id": id, "name": name, "input": object{}})}
	for _, p := range pieces {
		out = append(out, s.delta(object{"type": "input_json_delta", "partial_json": p}))
	}
	return out
}

func (s *anthropicSpeech) whole(text string, calls []ToolCall) []string {
	var out []string
	if text != "" {
		out = append(out, s.text(text))
	}
	for _, c := range calls {
		out = append(out, s.call(c.ID, c.Name, []string{c.Args})...)
	}
	return out
}

func (s *anthropicSpeech) usage(a Action) { s.n = a.n }

func (s *anthropicSpeech) end(reason string, done bool) string {
	switch {
	case reason == "" && s.calls > 0:
		reason = "tool_use"
	case reason == "":
		reason = "end_turn"
	}
	out := s.leave() + s.event("message_delta", object{
		"delta": object{"stop_reason": reason},
		"usage": object{
			"input_tokens": s.n[0] - s.n[2], "cache_read_input_tokens": s.n[2], "cache_creation_input_tokens": 0,
			"output_tokens": s.n[1], "output_tokens_details": object{"thinking_tokens": s.n[3]},
		},
	})
	if done {
		out += s.event("message_stop", object{})
	}
	return out
}

func (s *anthropicSpeech) trouble(kind, message string) string {
	return s.event("error", object{"error": object{"type": kind, "message": message}})
}
