package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"fika"
	"fika/internal/settings/toml"
)

// The bounds of a schema; reading one takes time quadratic in its depth.
const (
	maxSchema      = 64 << 10 // bytes
	maxSchemaDepth = 32
)

// compileSchema reads a JSON Schema. Unknown keywords are an error, because a
// misspelt one would check nothing.
func compileSchema(text []byte) (*jsonschema.Resolved, error) {
	if len(text) > maxSchema || nesting(text) > maxSchemaDepth {
		return nil, fmt.Errorf("it has more than %d bytes, or is nested more than %d deep", maxSchema, maxSchemaDepth)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if err := checkKeywords(&s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// nesting returns how deep the brackets of a JSON text nest. It counts brackets in
// strings, too, for which a schema has no use.
func nesting(text []byte) int {
	depth, deepest := 0, 0
	for _, c := range text {
		switch c {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

func checkKeywords(s *jsonschema.Schema) error {
	if s == nil {
		return nil
	}
	types := []string{"string", "number", "integer", "boolean", "array", "object", "null"}
	for _, t := range append(slices.Clone(s.Types), s.Type) {
		if t != "" && !slices.Contains(types, t) {
			return fmt.Errorf("type %s not found%s", toml.Quote(t), toml.NearestHint(t, types))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.Extra)) {
		known := []string{"type", "properties", "required", "items", "enum", "const", "description", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "additionalProperties"}
		return fmt.Errorf("unknown keyword %s%s", toml.Quote(k), toml.NearestHint(k, known))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if err := checkKeywords(s.Properties[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return checkKeywords(s.Items)
}

// CheckOutput checks the output of a step against what the step is to give, and
// returns it as it is to be stored: for a JSON step the JSON alone, without the fence
// of a code block around it. It fails with Invalid and a message written for the
// model.
func (s *Step) CheckOutput(text string) (string, error) {
	if s.Output != OutputJSON {
		return text, nil
	}
	text = unfence(text)
	if len(text) > MaxJSON {
		return "", fika.Errorf(fika.Invalid, "output", "the JSON has %d bytes, more than %d: give less, or write it into a file and name that", len(text), MaxJSON)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", fika.Errorf(fika.Invalid, "output", "this is not JSON (%v): answer with one JSON value and nothing around it", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", fika.Errorf(fika.Invalid, "output", "there is something behind the JSON: answer with one JSON value and nothing around it")
	}
	if len(s.Schema) > 0 {
		resolved, err := compileSchema(s.Schema)
		if err != nil {
			return "", fika.Wrap(fika.Failed, "output", err)
		}
		if err := resolved.Validate(v); err != nil {
			return "", fika.Errorf(fika.Invalid, "output", "the JSON is not as asked for: %v", err)
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return "", fika.Wrap(fika.Failed, "output", err)
	}
	return compact.String(), nil
}

// unfence takes JSON out of ```json … ```, which models like to write.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	_, inner, ok = strings.Cut(inner, "\n")
	inner, closed := strings.CutSuffix(strings.TrimSpace(inner), "```")
	if !ok || !closed {
		return text
	}
	return strings.TrimSpace(inner)
}

// shape is what is known about a value before it exists.
type shape struct {
	kind   string // text, number, boolean, list, table; empty: unknown
	schema *jsonschema.Schema
}

// shapeOf returns what a schema says about its values.
func shapeOf(s *jsonschema.Schema) shape {
	if s == nil || s.Type == "" {
		return shape{schema: s}
	}
	kinds := map[string]string{"string": TypeText, "number": TypeNumber, "integer": TypeNumber, "boolean": TypeBoolean, "array": TypeList, "object": kindTable}
	return shape{kind: kinds[s.Type], schema: s}
}

const kindTable = "table"

// field returns the shape of a field, or what is wrong with asking for it; whole is
// the value as written.
func (s shape) field(whole, name string) (shape, string) {
	switch s.kind {
	case TypeText, TypeNumber, TypeBoolean, TypeList:
		return shape{}, fmt.Sprintf("%s is a %s and has no field %s", whole, s.kind, name)
	}
	if s.schema == nil || len(s.schema.Properties) == 0 {
		return shape{}, ""
	}
	if p, ok := s.schema.Properties[name]; ok {
		return shapeOf(p), ""
	}
	if s.schema.PatternProperties != nil || len(s.schema.AllOf)+len(s.schema.AnyOf)+len(s.schema.OneOf) > 0 || s.schema.Ref != "" {
		return shape{}, ""
	}
	known := slices.Sorted(maps.Keys(s.schema.Properties))
	return shape{}, fmt.Sprintf("the schema of %s has no field %s%s", whole, toml.Quote(name), orKnown(name, known))
}

// orKnown returns the end of a message about an unknown name: the nearest known name,
// else all of them.
func orKnown(name string, known []string) string {
	switch near := toml.NearestHint(name, known); {
	case near != "":
		return near
	case len(known) == 0:
		return "; none is defined"
	case len(known) <= 15:
		return "; known: " + strings.Join(known, ", ")
	}
	return ""
}
