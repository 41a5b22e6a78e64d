package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fika"
	"fika/internal/redact"
)

// Permissions say which tools an agent may use.
type Permissions struct {
	// Allow names the tools the agent may use (tool_permissions). nil is the
	// default: everything but what is had ByName, which leaves read, list and every
	// plugin. Empty and not nil: nothing.
	Allow []string
	// Off takes tools away, those that are always offered too (tools_off).
	Off []string
}

// Set is the tools of one agent. It never changes and may be used from many
// goroutines. Permissions hold twice: in what is offered and in what runs.
type Set struct {
	tools map[string]Tool
	order []string // as given, which keeps prompts stable and cacheable
	perms Permissions
	allow map[string]bool // perms.Allow, looked up for each of many tools
	keys  *redact.Keys
}

// validName reports whether all providers take a name.
func validName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// NewSet puts tools under permissions. The order is kept. Errors of kind
// Invalid: two tools of one name, a name no provider accepts, or a schema that
// is not a JSON object.
func NewSet(tools []Tool, p Permissions) (*Set, error) {
	s := &Set{tools: make(map[string]Tool, len(tools)), perms: p, allow: make(map[string]bool, len(p.Allow))}
	for _, name := range p.Allow {
		s.allow[name] = true
	}
	for _, t := range tools {
		spec := t.Spec()
		if !validName(spec.Name) {
			return nil, fika.Errorf(fika.Invalid, "tools", "%q is not a tool name: use 1 to 64 letters, digits, _ or -", spec.Name)
		}
		if _, twice := s.tools[spec.Name]; twice {
			return nil, fika.Errorf(fika.Invalid, "tools", "two tools are named %q: rename or disable one of them", spec.Name)
		}
		if !spec.Checked {
			if _, err := parseSchema(spec.Parameters); err != nil {
				return nil, fika.Errorf(fika.Invalid, "tools", "the parameters of %q are not a JSON Schema object: %v", spec.Name, err)
			}
		}
		s.tools[spec.Name] = t
		s.order = append(s.order, spec.Name)
	}
	return s, nil
}

// RedactWith makes the set refuse arguments that hold a known key, and take keys
// out of what its tools give. Call it before the set is used.
func (s *Set) RedactWith(keys *redact.Keys) {
	s.keys = keys
	if keys == nil {
		return
	}
	for name, t := range s.tools {
		s.tools[name] = &redacted{Tool: t, keys: keys}
	}
}

// Validate checks the arguments of a call of t: kind Invalid when they do not
// fit its schema, Denied when they hold a known key.
func (s *Set) Validate(t Tool, args json.RawMessage) error {
	if err := t.Spec().Validate(args); err != nil {
		return err
	}
	plain := string(args)
	var v any
	if json.Unmarshal(args, &v) == nil { // a key can be written with escapes
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(v) == nil {
			plain += b.String()
		}
	}
	name, found := s.keys.FindKey(plain)
	if !found { // it was taken out of what the model said
		name, found = s.keys.FindMark(plain)
	}
	if found {
		return fika.Errorf(fika.Denied, "tool", "the arguments hold the key %s, which is not for tools: leave it out", name)
	}
	return nil
}

// OfferedSpecs lists what the model may be told of, in the order the tools were
// given.
func (s *Set) OfferedSpecs() []Spec {
	specs := make([]Spec, 0, len(s.order))
	for _, name := range s.order {
		if spec := s.tools[name].Spec(); s.isAllowed(spec) && !spec.Hidden {
			specs = append(specs, spec)
		}
	}
	return specs
}

// AllowedNames names the tools that the agent may use, whether they are offered here
// or not.
func (s *Set) AllowedNames() []string {
	var names []string
	for _, name := range s.order {
		if s.isAllowed(s.tools[name].Spec()) {
			names = append(names, name)
		}
	}
	return names
}

// Find gives a tool the agent may use. Error kinds as for [Set.Check].
func (s *Set) Find(name string) (Tool, error) {
	if err := s.Check(name); err != nil {
		return nil, err
	}
	return s.tools[name], nil
}

// Delegator gives a tool that delegates, whether or not the agent may use it
// any more: what it has begun has to be reported.
func (s *Set) Delegator(name string) (Delegator, bool) { return DelegatorOf(s.tools[name]) }

// Check says whether the agent may call name: nil, kind NotFound for a name
// that is no tool, kind Denied for a tool its permissions do not give.
func (s *Set) Check(name string) error {
	t, known := s.tools[name]
	if !known {
		var offered []string
		for _, spec := range s.OfferedSpecs() {
			offered = append(offered, spec.Name)
		}
		return fika.Errorf(fika.NotFound, "tool", "no tool is named %q%s", clipBytes(name, 80), suggestName(name, offered))
	}
	if !s.isAllowed(t.Spec()) {
		return fika.Errorf(fika.Denied, "tool", "%s is not permitted to this agent: do without it, or ask a person to add it to tool_permissions", name)
	}
	return nil
}

// UnknownNames lists names in the permissions that are no tool: typing errors, or
// plugins that are not installed.
func (s *Set) UnknownNames() []string {
	var names []string
	for _, name := range slices.Concat(s.perms.Allow, s.perms.Off) {
		if _, ok := s.tools[name]; !ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Call checks name, permission and arguments, then runs the tool. Whatever is
// refused is a Result with IsError; Denied is set when permissions refused.
func (s *Set) Call(ctx context.Context, c Call) (Result, error) {
	t, err := s.Find(c.Name)
	if err != nil {
		return Refusal(err), nil
	}
	if len(c.Args) == 0 {
		c.Args = json.RawMessage("{}")
	}
	if err := s.Validate(t, c.Args); err != nil {
		return Refusal(err), nil
	}
	return t.Call(ctx, c)
}

// Refusal makes the result a model reads when a call was not carried out.
func Refusal(err error) Result {
	text := err.Error()
	if e, ok := err.(*fika.Error); ok && e.Msg != "" {
		text = e.Msg
	}
	return Result{Text: text, IsError: true, Denied: fika.IsKind(err, fika.Denied)}
}

func (s *Set) isAllowed(spec Spec) bool {
	switch {
	case slices.Contains(s.perms.Off, spec.Name):
		return false
	case spec.Always:
		return true
	case s.perms.Allow == nil:
		return !spec.ByName
	}
	return s.allow[spec.Name]
}
