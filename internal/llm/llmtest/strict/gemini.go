package strict

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// Gemini is a server of generateContent, streamed. Like newer models it wants the signature of
// the first call of each step back; named says whether it gives its calls ids.
func Gemini(named bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := decode(r)
		if err != nil || r.URL.Path != "/v1beta/models/m:streamGenerateContent" || r.URL.Query().Get("alt") != "sse" || r.Header.Get("X-Goog-Api-Key") == "" {
			refuse(w, "not a request: %v, %s", err, r.URL)
			return
		}
		seen, wrong := readGemini(body)
		if wrong != "" {
			refuse(w, "%s", wrong)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		answerGemini(w, body, seen, named)
	})
}

func readGemini(body object) (s shown, wrong string) {
	if k := onlyKeys(body, "generationConfig", "tools", "systemInstruction", "contents"); k != "" {
		return s, "Unknown name \"" + k + "\""
	}
	if k := onlyKeys(fields(body["generationConfig"]), "maxOutputTokens", "thinkingConfig", "responseMimeType", "responseJsonSchema"); k != "" {
		return s, "Unknown name \"" + k + "\" at generation_config"
	}
	for _, t := range list(body["tools"]) {
		for _, f := range list(fields(t)["functionDeclarations"]) {
			if d := fields(f); !isText(d["name"]) || !anyObject(d["parametersJsonSchema"]) {
				return s, "function_declarations: wrong shape"
			}
		}
	}
	contents := list(body["contents"])
	if len(contents) == 0 {
		return s, "contents is not specified"
	}
	var open []object // calls without a result
	for i, raw := range contents {
		c := fields(raw)
		role := word(c["role"])
		if (i%2 == 0) != (role == "user") || role != "user" && role != "model" {
			return s, fmt.Sprintf("contents[%d]: roles must alternate and begin with user", i)
		}
		parts := list(c["parts"])
		if len(parts) == 0 {
			return s, fmt.Sprintf("contents[%d].parts must not be empty", i)
		}
		if role == "model" {
			open, wrong = s.modelParts(parts)
		} else {
			open, wrong = s.userParts(parts, open)
		}
		if wrong != "" {
			return s, fmt.Sprintf("contents[%d]: %s", i, wrong)
		}
	}
	if word(fields(contents[len(contents)-1])["role"]) != "user" {
		return s, "the last content must be the user's"
	}
	return s, ""
}

func (s *shown) modelParts(parts []any) (open []object, wrong string) {
	for _, raw := range parts {
		p := fields(raw)
		call := fields(p["functionCall"])
		switch signature := word(p["thoughtSignature"]); {
		case call != nil && (!isText(call["name"]) || call["args"] != nil && !anyObject(call["args"])):
			return nil, "wrong functionCall"
		case call != nil && len(open) == 0 && signature == "":
			return nil, "Function call is missing a thought_signature in functionCall parts"
		case signature == "c2lnbmVk":
			s.thoughts++
		case signature != "" && signature != "skip_thought_signature_validator":
			return nil, "Thought signature is not valid"
		case call == nil && !isText(p["text"]):
			return nil, "part without data"
		}
		if call != nil {
			open = append(open, call)
		}
	}
	return open, ""
}

func (s *shown) userParts(parts []any, open []object) (left []object, wrong string) {
	s.results = nil
	for _, raw := range parts {
		p := fields(raw)
		if result := fields(p["functionResponse"]); result != nil {
			if len(open) == 0 {
				return nil, "function response without a function call"
			}
			if result["name"] != open[0]["name"] || result["id"] != open[0]["id"] || !anyObject(result["response"]) {
				return nil, fmt.Sprintf("function response %v does not match the call %v", result, open[0])
			}
			open = open[1:]
			s.results = append(s.results, fmt.Sprint(fields(result["response"])["result"]))
			continue
		}
		if len(open) > 0 {
			return nil, "the number of function response parts must equal the number of function call parts"
		}
		if data := fields(p["inlineData"]); data != nil {
			if _, err := base64.StdEncoding.DecodeString(word(data["data"])); err != nil || !isText(data["mimeType"]) {
				return nil, "inline_data"
			}
			if data["mimeType"] == "application/pdf" {
				s.files++
			} else {
				s.pictures++
			}
			continue
		}
		if !isText(p["text"]) {
			return nil, "part without data"
		}
		s.last = word(p["text"])
	}
	if len(open) > 0 {
		return nil, "the number of function response parts must equal the number of function call parts"
	}
	return nil, ""
}

func answerGemini(w http.ResponseWriter, body object, s shown, named bool) {
	usage := object{"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 12, "thoughtsTokenCount": 8, "totalTokenCount": 120}
	say := func(finish string, parts ...any) {
		one := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if finish != "" {
			one["finishReason"] = finish
		}
		send(w, object{"candidates": []any{one}, "usageMetadata": usage, "modelVersion": "m"})
	}
	tools := list(body["tools"])
	if strings.HasPrefix(s.last, "use") && len(tools) > 0 && len(s.results) == 0 {
		name := fields(list(fields(tools[0])["functionDeclarations"])[0])["name"]
		say("", object{"text": "two at once", "thought": true})
		for i, id := range []string{"call_a", "call_b"} {
			call := object{"name": name, "args": object{"path": id}}
			if named {
				call["id"] = id
			}
			part := object{"functionCall": call}
			if i == 0 {
				part["thoughtSignature"] = "c2lnbmVk"
			}
			say("", part)
		}
		say("STOP", object{"text": ""})
		return
	}
	text := s.words()
	if config := fields(body["generationConfig"]); config["responseMimeType"] == "application/json" && anyObject(config["responseJsonSchema"]) {
		text = `{"ok":true}`
	}
	say("", object{"text": text[:3]})
	say("STOP", object{"text": text[3:], "thoughtSignature": "c2lnbmVk"})
}
