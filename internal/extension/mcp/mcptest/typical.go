package mcptest

import (
	"fmt"
	"strings"
)

// typical returns nine tools with parameters such as servers have: about six kilobytes in
// all.
func typical() []any {
	var out []any
	for i := range 9 {
		properties := map[string]any{}
		for k := range 3 {
			properties[fmt.Sprintf("field%d", k)] = map[string]any{
				"type": "array", "description": "What is meant by this one of the arguments.",
				"items": map[string]any{"type": "object", "required": []string{"name"}, "properties": map[string]any{
					"name": map[string]any{"type": "string", "description": "The name."}, "kind": map[string]any{"type": "string", "enum": []string{"a", "b", "c"}},
				}},
			}
		}
		t := tool(fmt.Sprintf("do_%d", i), map[string]any{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": properties, "required": []string{"field0"}, "additionalProperties": false})
		t["description"] = strings.Repeat("Does something that takes a sentence or two to describe. ", 3)
		out = append(out, t)
	}
	return out
}
