package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"fika"
)

// maxDepth bounds the nesting of arguments.
const maxDepth = 64

// schema is the part of JSON Schema that tools use. Anything it does not know (anyOf,
// $ref, formats …) is accepted: a tool still checks its own arguments.
type schema struct {
	Type       types              `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Enum       []any              `json:"enum"`
	Items      json.RawMessage    `json:"items"`
	Additional json.RawMessage    `json:"additionalProperties"`
	Minimum    *json.Number       `json:"minimum"`
	Maximum    *json.Number       `json:"maximum"`

	// Only their presence matters: if one is set, further names may be valid.
	Patterns json.RawMessage `json:"patternProperties"`
	AnyOf    json.RawMessage `json:"anyOf"`
	OneOf    json.RawMessage `json:"oneOf"`
	AllOf    json.RawMessage `json:"allOf"`
	Ref      json.RawMessage `json:"$ref"`

	extra bool // names that are not listed are accepted, here and below
}

// types is the value of "type": "string" or ["string","null"].
type types []string

func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// UnmarshalJSON parses a schema; true and false are schemas too.
func (s *schema) UnmarshalJSON(data []byte) error {
	if d := string(bytes.TrimSpace(data)); d == "true" || d == "false" {
		return nil
	}
	type plain schema
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode((*plain)(s))
}

func parseSchema(raw json.RawMessage) (*schema, error) {
	s := new(schema)
	if len(bytes.TrimSpace(raw)) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, err
	}
	return s, nil
}

// Validate checks the arguments of a call against the tool's parameters: required names,
// types, enums, bounds and, unless the tool takes Extra ones, unlisted names. An
// optional argument may be null. The error (kind Invalid) is written for the model: it
// names the argument and says what is wrong and what would be right.
func (spec Spec) Validate(args json.RawMessage) error {
	s, err := parseSchema(spec.Parameters)
	if err != nil {
		return invalidArguments("the tool's own parameters cannot be read: %v", err)
	}
	s.extra = spec.Extra
	v, err := parseArgs(args)
	if err != nil {
		return err
	}
	return s.checkObject("", v)
}

// Decode validates the arguments of c against spec and decodes them into into, a pointer
// to a struct with json tags.
func Decode(spec Spec, c Call, into any) error {
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := spec.Validate(args); err != nil {
		return err
	}
	if err := json.Unmarshal(args, into); err != nil {
		return invalidArguments("the arguments cannot be read: %v", err)
	}
	return nil
}

func invalidArguments(format string, args ...any) error {
	return fika.Errorf(fika.Invalid, "arguments", format, args...)
}

// parseArgs parses one JSON object. It refuses a duplicate name, because two parsers
// might not agree on which one counts.
func parseArgs(args json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	v, err := parseValue(dec, 0)
	if fika.IsKind(err, fika.Invalid) {
		return nil, err
	}
	if err != nil {
		return nil, invalidArguments("the arguments are not complete JSON (%v): send one JSON object", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, invalidArguments("there is something after the arguments: send one JSON object and nothing else")
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, invalidArguments("the arguments are %s: send a JSON object like {\"name\": value}", kindOf(v))
	}
	return obj, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, invalidArguments("the arguments are nested more than %d deep", maxDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return parseObject(dec, depth)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := parseValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return tok, nil
}

func parseObject(dec *json.Decoder, depth int) (any, error) {
	obj := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if _, twice := obj[name]; twice {
			return nil, invalidArguments("%q is given twice", clipBytes(name, 80))
		}
		if obj[name], err = parseValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return obj, err
}

func (s *schema) checkValue(at string, v any) error {
	if len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(t string) bool { return isType(v, t) }) {
		return invalidArguments("%s must be %s, not %s", at, typeWords(s.Type), kindOf(v))
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return sameJSON(e, v) }) {
		return invalidArguments("%s must be one of %s", at, enumWords(s.Enum))
	}
	switch v := v.(type) {
	case map[string]any:
		return s.checkObject(at+".", v)
	case []any:
		return s.checkItems(at, v)
	case json.Number:
		return s.checkBounds(at, v)
	}
	return nil
}

func (s *schema) checkObject(prefix string, obj map[string]any) error {
	for _, name := range s.Required {
		if v, ok := obj[name]; !ok || (v == nil && !s.isNullable(name)) {
			if given := s.unknownNames(obj); len(given) > 0 {
				return invalidArguments("%s is missing; %s is not an argument%s", prefix+name, clipBytes(given[0], 80), suggestName(given[0], sortedKeys(s.Properties)))
			}
			return invalidArguments("%s is missing", prefix+name)
		}
	}
	if given := s.unknownNames(obj); len(given) > 0 {
		return invalidArguments("%s is not an argument%s", clipBytes(prefix+given[0], 80), suggestName(given[0], sortedKeys(s.Properties)))
	}
	for _, name := range sortedKeys(obj) {
		p := s.Properties[name]
		if p == nil || (obj[name] == nil && !slices.Contains(s.Required, name)) {
			continue
		}
		p.extra = s.extra
		if err := p.checkValue(prefix+name, obj[name]); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) isNullable(name string) bool {
	p := s.Properties[name]
	return p == nil || len(p.Type) == 0 || slices.Contains(p.Type, "null")
}

// unknownNames lists the names that the schema does not have, sorted. A schema that
// lists properties allows only those unless it says that others are welcome, because a
// misspelt optional argument would otherwise be ignored in silence.
func (s *schema) unknownNames(obj map[string]any) []string {
	closed := string(s.Additional) == "false"
	open := s.extra || len(s.Properties) == 0 || len(s.Additional) > 0
	for _, raw := range []json.RawMessage{s.Patterns, s.AnyOf, s.OneOf, s.AllOf, s.Ref} {
		open = open || len(raw) > 0
	}
	if open && !closed {
		return nil
	}
	var names []string
	for _, name := range sortedKeys(obj) {
		if s.Properties[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

func (s *schema) checkItems(at string, list []any) error {
	item, err := parseSchema(s.Items)
	if err != nil {
		return nil // the old form, with one schema per position: not checked
	}
	item.extra = s.extra
	for i, v := range list {
		if err := item.checkValue(fmt.Sprintf("%s[%d]", at, i), v); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) checkBounds(at string, n json.Number) error {
	v, ok := exactNumber(n)
	if !ok {
		return nil
	}
	if s.Minimum != nil {
		if low, ok := exactNumber(*s.Minimum); ok && v.Cmp(low) < 0 {
			return invalidArguments("%s must be at least %s", at, *s.Minimum)
		}
	}
	if s.Maximum != nil {
		if high, ok := exactNumber(*s.Maximum); ok && v.Cmp(high) > 0 {
			return invalidArguments("%s must be at most %s", at, *s.Maximum)
		}
	}
	return nil
}

// exactNumber parses a number exactly; it skips absurdly long ones.
func exactNumber(n json.Number) (*big.Rat, bool) {
	if len(n) > 40 {
		return nil, false
	}
	if _, exp, found := strings.Cut(strings.ToLower(n.String()), "e"); found && len(exp) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

func isType(v any, t string) bool {
	switch t {
	case "integer":
		n, ok := v.(json.Number)
		if !ok {
			return false
		}
		r, ok := exactNumber(n)
		return ok && r.IsInt()
	case "number":
		_, ok := v.(json.Number)
		return ok
	case "string":
		_, ok := v.(string)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "array":
		_, ok := v.([]any)
		return ok
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "null":
		return v == nil
	}
	return true // a type not known yet
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number:
		return "the number " + clipBytes(v.String(), 24)
	case []any:
		return "an array"
	}
	return "an object"
}

func typeWords(t types) string {
	words := map[string]string{
		"integer": "a whole number", "number": "a number", "string": "a string", "boolean": "true or false",
		"array": "an array", "object": "an object", "null": "null",
	}
	var out []string
	for _, one := range t {
		if w := words[one]; w != "" {
			one = w
		}
		out = append(out, one)
	}
	return strings.Join(out, " or ")
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func enumWords(enum []any) string {
	var out []string
	for _, e := range enum {
		raw, err := json.Marshal(e)
		if err != nil {
			continue
		}
		out = append(out, string(raw))
	}
	return clipBytes(strings.Join(out, ", "), 400)
}
