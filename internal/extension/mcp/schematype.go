package mcp

import "slices"

// unknownType returns the first type in a schema that JSON Schema does not define, or ""
// if there is none. A provider refuses a whole request that contains such a schema, so
// that the agent could not say anything any more.
func unknownType(schema any) string {
	if list, ok := schema.([]any); ok {
		return firstUnknown(list)
	}
	m, ok := schema.(map[string]any)
	if !ok {
		return ""
	}
	kinds := []any{m["type"]}
	if list, ok := m["type"].([]any); ok {
		kinds = list
	}
	for _, kind := range kinds {
		name, isText := kind.(string)
		if isText && !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, name) {
			return name
		}
	}
	for _, key := range []string{"items", "prefixItems", "additionalProperties", "not", "anyOf", "oneOf", "allOf"} {
		if found := unknownType(m[key]); found != "" {
			return found
		}
	}
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions"} {
		named, _ := m[key].(map[string]any)
		for _, inner := range named {
			if found := unknownType(inner); found != "" {
				return found
			}
		}
	}
	return ""
}

func firstUnknown(list []any) string {
	for _, inner := range list {
		if found := unknownType(inner); found != "" {
			return found
		}
	}
	return ""
}
