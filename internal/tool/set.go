package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fika"
	"fika/internal/text/redact"
)

// Permissions says which tools an agent may use.
type Permissions struct {
	// Allow names the tools the agent may use (tool_permissions). nil is the default:
	// every tool that is not ByName, which leaves read, list and every plugin. Empty but
	// not nil: none.
	Allow []string
	// Off names tools to take away, including those that are always offered (tools_off).
	Off []string
}

// Set is the tools of one agent. It does not change once it is in use and is safe for
// concurrent use. Permissions apply twice: to what is offered and to what runs.
type Set struct {
	tools map[string]Tool
	order []string // in the order given, which keeps prompts stable and cacheable
	perms Permissions
	allow map[string]bool // perms.Allow as a set, for fast lookup
	keys  *redact.Keys
	gone  func(name string) string
}

// validName reports whether all providers accept a name.
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

// NewSet returns a set of tools under permissions, in the order given. It fails with
// kind Invalid if two tools have the same name, a name is not accepted by all providers,
// or a schema is not a JSON object.
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

// RedactWith makes the set refuse arguments that contain a known key, and remove keys
// from the output of its tools. Call it before the set is used.
func (s *Set) RedactWith(keys *redact.Keys) {
	s.keys = keys
	if keys == nil {
		return
	}
	for name, t := range s.tools {
		s.tools[name] = &redacted{Tool: t, keys: keys}
	}
}

// ExplainMissing has the set say more about a tool that it does not have: what explain
// returns for its name, if that is not empty. Call it before the set is used.
func (s *Set) ExplainMissing(explain func(name string) string) { s.gone = explain }

// Validate checks the arguments of a call of t. It fails with kind Invalid if they do
// not fit the schema, and with Denied if they contain a known key.
func (s *Set) Validate(t Tool, args json.RawMessage) error {
	if err := t.Spec().Validate(args); err != nil {
		return err
	}
	plain := string(args)
	var v any
	if json.Unmarshal(args, &v) == nil { // a key may be written with escapes
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(v) == nil {
			plain += b.String()
		}
	}
	name, found := s.keys.FindKey(plain)
	if !found { // redaction may have replaced it in what the model said
		name, found = s.keys.FindMark(plain)
	}
	if found {
		return fika.Errorf(fika.Denied, "tool", "the arguments hold the key %s, which is not for tools: leave it out", name)
	}
	return nil
}

// OfferedSpecs lists the tools that the model may be offered, in the order given, deferred
// ones included.
func (s *Set) OfferedSpecs() []Spec {
	specs := make([]Spec, 0, len(s.order))
	for _, name := range s.order {
		if spec := s.tools[name].Spec(); s.isAllowed(spec) && !spec.Hidden {
			specs = append(specs, spec)
		}
	}
	return specs
}

// AllowedNames lists the tools that the agent may use, whether or not they are offered
// here.
func (s *Set) AllowedNames() []string {
	var names []string
	for _, name := range s.order {
		if s.isAllowed(s.tools[name].Spec()) {
			names = append(names, name)
		}
	}
	return names
}

// Find returns a tool that the agent may use. It fails as [Set.Check] does.
func (s *Set) Find(name string) (Tool, error) {
	if err := s.Check(name); err != nil {
		return nil, err
	}
	return s.tools[name], nil
}

// Delegator returns a tool that delegates, even if the agent may no longer use it: tasks
// that were begun have to be reported.
func (s *Set) Delegator(name string) (Delegator, bool) { return DelegatorOf(s.tools[name]) }

// Check returns nil if the agent may call name, an error of kind NotFound if there is no
// such tool, and one of kind Denied if the permissions do not include it.
func (s *Set) Check(name string) error {
	t, known := s.tools[name]
	if !known && s.gone != nil {
		if why := s.gone(name); why != "" {
			return fika.Errorf(fika.NotFound, "tool", "%s cannot be called: %s", clipBytes(name, 80), why)
		}
	}
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

// UnknownNames lists the names in the permissions that are not tools: typing errors, or
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

// Call checks name, permission and arguments, then runs the tool. A refusal is a Result
// with IsError; Denied is set when permissions or a key in the arguments caused it.
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

// Refusal returns the result that a model reads when a call was not carried out because
// of err.
func Refusal(err error) Result {
	return Result{Text: fika.ReasonOf(err), IsError: true, Denied: fika.IsKind(err, fika.Denied)}
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
