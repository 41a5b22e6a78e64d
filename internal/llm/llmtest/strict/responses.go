package strict

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Responses is a server of the responses API. It expects store to be false, and so refuses
// what refers to kept items.
func Responses() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := decode(r)
		if err != nil || r.URL.Path != "/v1/responses" || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			refuse(w, "not a request: %v, %s", err, r.URL.Path)
			return
		}
		seen, wrong := readResponses(body)
		if wrong != "" {
			refuse(w, "%s", wrong)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Request-Id", "req_strict")
		answerResponses(w, body, seen)
	})
}

// shown is what a request shows the model.
type shown struct {
	last     string // the user's last text
	results  []string
	pictures int
	thoughts int
	files    int
}

func (s shown) words() string {
	return fmt.Sprintf("results %s; %d pictures; %d files; %d thoughts", strings.Join(s.results, ","), s.pictures, s.files, s.thoughts)
}

func readResponses(body object) (s shown, wrong string) {
	if k := onlyKeys(body, "model", "stream", "store", "include", "max_output_tokens", "reasoning", "text", "instructions", "tools", "input", "parallel_tool_calls"); k != "" {
		return s, "unknown parameter: '" + k + "'"
	}
	if !isText(body["model"]) || body["stream"] != true || body["store"] != false {
		return s, "model, stream and store"
	}
	if inc := list(body["include"]); len(inc) != 1 || inc[0] != "reasoning.encrypted_content" {
		return s, "include"
	}
	if n, ok := body["max_output_tokens"].(float64); ok && n < 16 {
		return s, "max_output_tokens: must be at least 16"
	}
	for _, t := range list(body["tools"]) {
		tool := fields(t)
		if tool["type"] != "function" || !isText(tool["name"]) || !anyObject(tool["parameters"]) || onlyKeys(tool, "type", "name", "description", "parameters", "strict") != "" {
			return s, "tools: wrong shape"
		}
	}
	open, thought, signed := map[string]bool{}, false, map[string]bool{}
	input := list(body["input"])
	if len(input) == 0 {
		return s, "input is required"
	}
	for i, raw := range input {
		item := fields(raw)
		switch item["type"] {
		case "message":
			if len(open) > 0 {
				return s, fmt.Sprintf("input[%d]: no tool output found for function call", i)
			}
			if wrong := s.message(item); wrong != "" {
				return s, fmt.Sprintf("input[%d]: %s", i, wrong)
			}
		case "reasoning":
			if !isText(item["encrypted_content"]) || !isText(item["id"]) {
				return s, fmt.Sprintf("input[%d]: item with id %v not found: store is false", i, item["id"])
			}
			if item["encrypted_content"] != "sealed:"+word(item["id"]) {
				return s, fmt.Sprintf("input[%d]: the encrypted content could not be verified", i)
			}
			s.thoughts++
			thought = true
		case "function_call":
			id := word(item["call_id"])
			if id == "" || open[id] || signed[id] || !isText(item["name"]) || !json.Valid([]byte(word(item["arguments"]))) {
				return s, fmt.Sprintf("input[%d]: wrong function_call", i)
			}
			if isText(item["id"]) && !thought {
				return s, fmt.Sprintf("input[%d]: function_call was provided without its required reasoning item", i)
			}
			open[id], signed[id] = true, true
		case "function_call_output":
			id := word(item["call_id"])
			if !open[id] {
				return s, fmt.Sprintf("input[%d]: no tool call found for function call output", i)
			}
			delete(open, id)
			text, wrong := s.content(item["output"], "input_text")
			if wrong != "" {
				return s, fmt.Sprintf("input[%d]: %s", i, wrong)
			}
			s.results = append(s.results, text)
		default:
			return s, fmt.Sprintf("input[%d]: invalid value: %v", i, item["type"])
		}
	}
	if len(open) > 0 {
		return s, "no tool output found for function call"
	}
	return s, ""
}

func (s *shown) message(item object) string {
	role := word(item["role"])
	if role != "user" && role != "assistant" {
		return "role " + role
	}
	kind := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
	text, wrong := s.content(item["content"], kind)
	if role == "user" {
		s.last, s.results = text, nil
	}
	return wrong
}

// content reads a text, or a list of parts.
func (s *shown) content(v any, kind string) (text, wrong string) {
	if t, ok := v.(string); ok {
		return t, ""
	}
	for _, raw := range list(v) {
		p := fields(raw)
		switch {
		case p["type"] == kind:
			text += word(p["text"])
		case p["type"] == "input_image" && strings.HasPrefix(word(p["image_url"]), "data:image/"):
			s.pictures++
		case p["type"] == "input_file" && isText(p["filename"]) && strings.HasPrefix(word(p["file_data"]), "data:application/pdf;base64,"):
			s.files++
		default:
			return "", fmt.Sprintf("content: invalid part %v", p["type"])
		}
	}
	return text, ""
}

func answerResponses(w http.ResponseWriter, body object, s shown) {
	output := []any{}
	item := func(v object) {
		send(w, object{"type": "response.output_item.added", "output_index": len(output), "item": v})
		output = append(output, v)
	}
	done := func(v object) {
		output[len(output)-1] = v
		send(w, object{"type": "response.output_item.done", "output_index": len(output) - 1, "item": v})
	}
	send(w, object{"type": "response.created", "response": object{"id": "resp_1", "object": "response", "status": "in_progress"}})
	tools := list(body["tools"])
	if strings.HasPrefix(s.last, "use") && len(tools) > 0 && len(s.results) == 0 {
		item(object{"type": "reasoning", "id": "rs_1", "summary": []any{}})
		send(w, object{"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "two at once"})
		done(object{"type": "reasoning", "id": "rs_1", "summary": []any{object{"type": "summary_text", "text": "two at once"}}, "encrypted_content": "sealed:rs_1"})
		for _, id := range []string{"call_a", "call_b"} {
			call := object{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": fields(tools[0])["name"], "arguments": "", "status": "in_progress"}
			item(call)
			args := fmt.Sprintf(`{"path":%q}`, id)
			for _, piece := range []string{args[:4], args[4:]} {
				send(w, object{"type": "response.function_call_arguments.delta", "output_index": len(output) - 1, "delta": piece})
			}
			done(object{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": fields(tools[0])["name"], "arguments": args, "status": "completed"})
		}
	} else {
		text := s.words()
		if format := fields(fields(body["text"])["format"]); format["type"] == "json_schema" && isText(format["name"]) && anyObject(format["schema"]) {
			text = `{"ok":true}`
		}
		item(object{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{}})
		send(w, object{"type": "response.output_text.delta", "output_index": len(output) - 1, "content_index": 0, "delta": text})
		done(object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": text, "annotations": []any{}}}})
	}
	send(w, object{"type": "response.completed", "response": object{
		"id": "resp_1", "object": "response", "status": "completed", "output": output,
		"usage": object{"input_tokens": 100, "input_tokens_details": object{"cached_tokens": 60}, "output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 8}, "total_tokens": 120},
	}})
}
