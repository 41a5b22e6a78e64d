package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"fika/internal/settings/toml"
)

// ref is something that a template or condition reads: steps.plan.output.files is
// four names.
type ref struct {
	path []string
	at   int // byte offset in the text
}

// scope is what a text of a step may read, and what is known about it.
type scope struct {
	def   *Definition
	step  *Step
	reach map[string]bool // steps that have ended by then
	item  bool            // item and index
	round bool            // round and last
	own   bool            // output, of the step itself
	chat  bool            // what is known about a discussion, and nothing else
	name  bool            // the text is the name of an agent
}

// chatShapes returns the values on which the end of a discussion may depend.
func chatShapes() map[string]shape {
	return map[string]shape{"messages": {kind: TypeNumber}, "last": {kind: TypeText}, "from": {kind: TypeText}}
}

// roots returns the names with which a path in this scope may begin.
func (s scope) roots() []string {
	names := []string{"inputs"}
	if s.chat {
		return slices.Sorted(maps.Keys(chatShapes()))
	}
	names = append(names, "steps")
	if s.step.Join == JoinAny {
		names = append(names, "first")
	}
	if s.item {
		names = append(names, "item", "index")
	}
	if s.round {
		names = append(names, "round", "last")
	}
	if s.own {
		names = append(names, "output")
	}
	return names
}

// resolve returns what is known about the value at a path, or what is wrong with
// asking for it.
func (s scope) resolve(path []string) (shape, string) {
	if roots := s.roots(); !slices.Contains(roots, path[0]) {
		return shape{}, s.unknownRoot(path[0], roots)
	}
	if s.chat {
		return walkFields(path[0], chatShapes()[path[0]], path[1:])
	}
	var (
		got  shape
		rest []string
	)
	whole := path[0]
	switch path[0] {
	case "inputs":
		if len(path) == 1 {
			return shape{kind: kindTable}, ""
		}
		in := s.def.input(path[1])
		if in == nil {
			return shape{}, fmt.Sprintf("input %s not found%s", toml.Quote(path[1]), orKnown(path[1], s.def.inputNames()))
		}
		got, rest = shape{kind: in.Type}, path[2:]
		if in.Type == TypeAgent {
			got.kind = TypeText
		}
	case "steps":
		return s.resolveStep(path)
	case "first":
		fields := map[string]*jsonschema.Schema{"step": {Type: "string"}, "output": {}}
		return walkFields("first", shape{kind: kindTable, schema: &jsonschema.Schema{Properties: fields}}, path[1:])
	case "index", "round":
		got, rest = shape{kind: TypeNumber}, path[1:]
	case "last", "output":
		got, rest = s.step.outputShape(false), path[1:]
	default:
		rest = path[1:]
	}
	if n := len(path) - len(rest); n > 1 {
		whole = strings.Join(path[:n], ".")
	}
	return walkFields(whole, got, rest)
}

// walkFields follows names into a value; whole is the value's name.
func walkFields(whole string, got shape, rest []string) (shape, string) {
	for _, name := range rest {
		next, wrong := got.field(whole, name)
		if wrong != "" {
			return shape{}, wrong
		}
		got, whole = next, whole+"."+name
	}
	return got, ""
}

func (s scope) unknownRoot(name string, roots []string) string {
	switch {
	case s.chat:
		return fmt.Sprintf("there is no %s%s", toml.Quote(name), orKnown(name, roots))
	case s.name && (name == "round" || name == "last"):
		return name + " cannot choose an agent: all rounds are the same agent's"
	case name == "item" || name == "index":
		return name + " belongs to a prompt of a step with for_each"
	case name == "round" || name == "last":
		return name + " belongs to a prompt of a step with repeat"
	case name == "first":
		return "first belongs to a step with join = \"any\""
	case name == "output":
		return "output is what the step itself gave, in repeat.until; of another step write steps.NAME.output"
	case s.def.Step(name) != nil:
		return fmt.Sprintf("there is no %s; did you mean steps.%s.output?", name, name)
	case s.def.input(name) != nil:
		return fmt.Sprintf("there is no %s; did you mean inputs.%s?", name, name)
	}
	return fmt.Sprintf("there is no %s%s", toml.Quote(name), orKnown(name, roots))
}

func (s scope) resolveStep(path []string) (shape, string) {
	if len(path) == 1 {
		return shape{kind: kindTable}, ""
	}
	id := path[1]
	other := s.def.Step(id)
	switch {
	case other == nil:
		return shape{}, fmt.Sprintf("step %s not found%s", toml.Quote(id), orKnown(id, s.def.stepIDs()))
	case id == s.step.ID:
		return shape{}, fmt.Sprintf("the step %s cannot read itself; last is what it gave in the round before", id)
	case !s.reach[id]:
		return shape{}, fmt.Sprintf("the step %s may not have ended by then: add %q to the needs of %s", id, id, s.step.ID)
	case len(path) == 2:
		return shape{kind: kindTable}, ""
	}
	whole := "steps." + id + "." + path[2]
	switch path[2] {
	case "output":
		got := other.outputShape(other.ForEach != "")
		if got.kind == TypeText && len(path) > 3 {
			return shape{}, fmt.Sprintf("%s is a text and has no field %s; output = \"json\" in step %s makes it one", whole, path[3], id)
		}
		return walkFields(whole, got, path[3:])
	case "state", "error":
		return walkFields(whole, shape{kind: TypeText}, path[3:])
	case "failed":
		if other.ForEach == "" {
			return shape{}, fmt.Sprintf("failed belongs to a step with for_each; whether %s failed is in steps.%s.state", id, id)
		}
		return walkFields(whole, shape{kind: TypeList}, path[3:])
	}
	return shape{}, fmt.Sprintf("a step has no %s%s", toml.Quote(path[2]), orKnown(path[2], []string{"output", "state", "error", "failed"}))
}

// outputShape returns what is known about a step's output, that of one item or of
// all.
func (s *Step) outputShape(all bool) shape {
	switch {
	case all:
		return shape{kind: TypeList}
	case s.Kind() == KindWorkflow:
		return shape{}
	case s.Output != OutputJSON:
		return shape{kind: TypeText}
	}
	var schema jsonschema.Schema
	if len(s.Schema) == 0 || json.Unmarshal(s.Schema, &schema) != nil {
		return shape{}
	}
	return shapeOf(&schema)
}
