package interop

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// messages speaks the wire of Anthropic.
func (m *Model) messages(ctx context.Context, w http.ResponseWriter, body object) {
	last, answers := "", []string{}
	for _, one := range list(body["messages"]) {
		msg := dict(one)
		if msg["role"] != "user" {
			continue
		}
		result := ""
		for _, b := range list(msg["content"]) {
			if block := dict(b); block["type"] == "tool_result" {
				result = textOf(block["content"])
				if result == "" {
					result = "(nothing)"
				}
				answers = append(answers, result)
			}
		}
		if said := textOf(msg["content"]); result == "" && said != "" {
			last, answers = said, nil
		}
	}
	t := m.decide(ctx, last, answers, names(body["tools"]))
	id := itoa(int(m.n.Add(1)))
	block, delta, stop := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": t.text}, "end_turn"
	if t.tool != "" {
		block, stop = object{"type": "tool_use", "id": "toolu_" + id, "name": t.tool, "input": object{}}, "tool_use"
		delta = object{"type": "input_json_delta", "partial_json": encoded(t.args)}
	}
	usage := object{"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
	msg := object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": body["model"], "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if body["stream"] != true {
		block["text"] = t.text
		if t.tool != "" {
			delete(block, "text")
			block["input"] = t.args
		}
		msg["content"], msg["stop_reason"] = []object{block}, stop
		write(w, msg)
		return
	}
	s := streamTo(w)
	s.event("message_start", object{"type": "message_start", "message": msg})
	s.event("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
	s.event("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	s.event("content_block_stop", object{"type": "content_block_stop", "index": 0})
	s.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	s.event("message_stop", object{"type": "message_stop"})
}

// responses speaks the newer wire of OpenAI.
func (m *Model) responses(ctx context.Context, w http.ResponseWriter, body object) {
	last, answers := text(body["input"]), []string{}
	for _, one := range list(body["input"]) {
		item := dict(one)
		switch {
		case item["type"] == "function_call_output" || item["type"] == "custom_tool_call_output":
			out := textOf(item["output"])
			if out == "" {
				out = encoded(item["output"])
			}
			answers = append(answers, out)
		case item["role"] == "user":
			if said := textOf(item["content"]); !strings.HasPrefix(said, "<") || strings.Contains(said, "model: ") {
				last, answers = said, nil
			}
		}
	}
	t := m.decide(ctx, last, answers, names(body["tools"]))
	id := itoa(int(m.n.Add(1)))
	item := object{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed", "content": []object{{"type": "output_text", "text": t.text, "annotations": []any{}}}}
	if t.tool != "" {
		item = object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": t.tool, "arguments": encoded(t.args), "status": "completed"}
		if space, name, ok := strings.Cut(t.tool, "__"); ok && strings.HasPrefix(name, "fika__") { // the tool of a namespace
			item["namespace"], item["name"] = space+"__fika", strings.TrimPrefix(name, "fika__")
		}
	}
	usage := object{"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}
	done := object{"id": "resp_" + id, "object": "response", "status": "completed", "model": body["model"], "output": []object{item}, "usage": usage}
	if body["stream"] != true {
		write(w, done)
		return
	}
	s := streamTo(w)
	s.event("response.created", object{"type": "response.created", "response": object{"id": "resp_" + id, "object": "response", "status": "in_progress", "output": []any{}}})
	s.event("response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": item})
	if t.tool == "" {
		s.event("response.output_text.delta", object{"type": "response.output_text.delta", "item_id": "msg_" + id, "output_index": 0, "content_index": 0, "delta": t.text})
	}
	s.event("response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	s.event("response.completed", object{"type": "response.completed", "response": done})
}

// completions speaks the older wire of OpenAI.
func (m *Model) completions(ctx context.Context, w http.ResponseWriter, body object) {
	last, answers := "", []string{}
	for _, one := range list(body["messages"]) {
		msg := dict(one)
		switch msg["role"] {
		case "user":
			last, answers = textOf(msg["content"]), nil
		case "tool":
			answers = append(answers, textOf(msg["content"]))
		}
	}
	t := m.decide(ctx, last, answers, names(body["tools"]))
	said, stop := object{"role": "assistant", "content": t.text}, "stop"
	if t.tool != "" {
		stop = "tool_calls"
		said = object{"role": "assistant", "content": nil, "tool_calls": []object{{"index": 0, "id": "call_" + itoa(int(m.n.Add(1))), "type": "function", "function": object{"name": t.tool, "arguments": encoded(t.args)}}}}
	}
	usage := object{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
	if body["stream"] != true {
		write(w, object{"id": "c1", "object": "chat.completion", "model": body["model"], "choices": []object{{"index": 0, "message": said, "finish_reason": stop}}, "usage": usage})
		return
	}
	s := streamTo(w)
	s.event("", object{"id": "c1", "object": "chat.completion.chunk", "model": body["model"], "choices": []object{{"index": 0, "delta": said, "finish_reason": nil}}})
	s.event("", object{"id": "c1", "object": "chat.completion.chunk", "model": body["model"], "choices": []object{{"index": 0, "delta": object{}, "finish_reason": stop}}, "usage": usage})
	_, _ = w.Write([]byte("data: [DONE]\n\n")) // the client may have gone
}

// content speaks the wire of Google.
func (m *Model) content(ctx context.Context, w http.ResponseWriter, body object, streamed bool) {
	last, answers := "", []string{}
	for _, one := range list(body["contents"]) {
		c := dict(one)
		if c["role"] == "model" {
			continue
		}
		result := false
		for _, p := range list(c["parts"]) {
			if r := dict(dict(p)["functionResponse"]); r != nil {
				result, answers = true, append(answers, encoded(r["response"]))
			}
		}
		if said := textOf(c["parts"]); !result && said != "" {
			last, answers = said, nil
		}
	}
	t := m.decide(ctx, last, answers, names(body["tools"]))
	part := object{"text": t.text}
	if t.tool != "" {
		part = object{"functionCall": object{"id": "call_" + itoa(int(m.n.Add(1))), "name": t.tool, "args": t.args}}
	}
	out := object{
		"candidates":    []object{{"index": 0, "content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}, "modelVersion": "stand-in",
	}
	if !streamed {
		write(w, out)
		return
	}
	streamTo(w).event("", out)
}

func itoa(n int) string { return strconv.Itoa(n) }
