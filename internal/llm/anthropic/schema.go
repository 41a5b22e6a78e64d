package anthropic

import "encoding/json"

// closedSchema reports whether a schema is one that the API's structured outputs take:
// objects that allow no other properties, without the keywords that it refuses. Others are
// left to the prompt, as for models without the mode.
// https://platform.claude.com/docs/en/build-with-claude/structured-outputs
func closedSchema(raw json.RawMessage) bool {
	var s any
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return false
	}
	top, ok := s.(map[string]any)
	return ok && top["type"] == "object" && closed(top)
}

func closed(s map[string]any) bool {
	for key, v := range s {
		switch key {
		case "type", "description", "title", "enum", "const", "default", "format", "required", "additionalProperties":
		case "properties", "$defs":
			list, ok := v.(map[string]any)
			if !ok || !allClosed(list) {
				return false
			}
		case "items":
			inner, ok := v.(map[string]any)
			if !ok || !closed(inner) {
				return false
			}
		default:
			return false
		}
	}
	return s["type"] != "object" || s["additionalProperties"] == false
}

func allClosed(list map[string]any) bool {
	for _, v := range list {
		inner, ok := v.(map[string]any)
		if !ok || !closed(inner) {
			return false
		}
	}
	return true
}
