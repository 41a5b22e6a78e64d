package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/tool"
)

// schema is what a plugin says about itself, in the form that is cached.
type schema struct {
	Tools   []toolDecl    `json:"tools,omitempty"`
	Hooks   []hook.Point  `json:"hooks,omitempty"`
	Block   bool          `json:"block,omitempty"` // if a hook fails, it refuses
	Timeout time.Duration `json:"timeout,omitempty"`
	Env     []string      `json:"env,omitempty"`
	JSON    bool          `json:"json,omitempty"`  // stdin is the arguments, never the terminal
	Home    bool          `json:"home,omitempty"`  // it uses fika itself
	Taint   bool          `json:"taint,omitempty"` // its results come from outside
	// Lifetime is how long the schema is valid; nil: the default, 0: not at all.
	Lifetime *time.Duration `json:"lifetime,omitempty"`
	Notes    []string       `json:"-"` // what was left out, for people
}

// toolDecl is one tool of a plugin.
type toolDecl struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Effect      fika.Effect     `json:"effect"`
	Parallel    bool            `json:"parallel,omitempty"` // although the tool is not pure
	Timeout     time.Duration   `json:"timeout,omitempty"`
}

// declaration is one object of the output of --schema.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Hooks       []string        `json:"hooks"`
	Parallel    *bool           `json:"parallel"`
	Effect      string          `json:"effect"`
	OnFailure   string          `json:"on_failure"`
	Timeout     json.RawMessage `json:"timeout"`
	Env         []string        `json:"env"`
	Stdin       string          `json:"stdin"`
	Access      string          `json:"access"`
	Taint       bool            `json:"taint"`
	Lifetime    json.RawMessage `json:"lifetime"`
}

const (
	maxSchema = 1 << 20 // bytes that --schema may print
	maxTools  = 256     // of one plugin
	// maxTimeout bounds the timeout that a plugin may ask for.
	maxTimeout = 24 * time.Hour
)

// parseSchema parses the output of --schema: one object, or an array of them. Error kind:
// Invalid.
func parseSchema(raw []byte) (*schema, error) {
	raw = bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("\ufeff"))
	if len(raw) == 0 {
		return nil, fika.Errorf(fika.Invalid, "", "--schema printed nothing")
	}
	var list []declaration
	var err error
	if raw[0] == '[' {
		err = json.Unmarshal(raw, &list)
	} else {
		list = make([]declaration, 1)
		err = json.Unmarshal(raw, &list[0])
	}
	if err != nil {
		return nil, fika.Errorf(fika.Invalid, "", "--schema did not print a JSON object or an array of them: %v", err)
	}
	if len(list) > maxTools {
		return nil, fika.Errorf(fika.Invalid, "", "--schema describes %d tools; at most %d are taken", len(list), maxTools)
	}
	s := &schema{}
	for i, d := range list {
		if err := s.addDeclaration(d); err != nil {
			return nil, fika.Wrap(fika.Invalid, fmt.Sprintf("tool %d of --schema", i+1), err)
		}
	}
	if len(s.Tools) == 0 && len(s.Hooks) == 0 {
		return nil, fika.Errorf(fika.Invalid, "", "--schema describes neither a tool nor a hook%s", strings.Join(append([]string{""}, s.Notes...), "; "))
	}
	return s, nil
}

// addDeclaration adds one declaration. A declaration with hooks and without parameters is
// not a tool.
func (s *schema) addDeclaration(d declaration) error {
	timeout, err := parseTimeout(d.Timeout)
	if err != nil {
		return err
	}
	if err := s.addLifetime(d.Lifetime); err != nil {
		return err
	}
	s.addStdin(d)
	s.addAccess(d)
	s.Taint = s.Taint || d.Taint
	s.Timeout = max(s.Timeout, timeout)
	for _, name := range d.Env {
		if !slices.Contains(s.Env, name) {
			s.Env = append(s.Env, name)
		}
	}
	s.addHooks(d)
	params := bytes.TrimSpace(d.Parameters)
	if len(params) == 0 || bytes.Equal(params, []byte("null")) {
		if len(d.Hooks) > 0 {
			return nil
		}
		params = []byte(`{"type":"object","properties":{}}`)
	}
	t := toolDecl{Name: d.Name, Description: d.Description, Timeout: timeout, Effect: s.declaredEffect(d)}
	t.Parallel = d.Parallel != nil && *d.Parallel && t.Effect != fika.Pure
	if strings.TrimSpace(d.Description) == "" {
		return fika.Errorf(fika.Invalid, "", "%q has no description: the model needs one", d.Name)
	}
	if t.Parameters, err = objectSchema(params); err != nil {
		return fika.Errorf(fika.Invalid, "", "parameters of %q: %v", d.Name, err)
	}
	// The rules for every tool apply here too.
	if _, err := tool.NewSet([]tool.Tool{&pluginTool{spec: t.toSpec()}}, tool.Permissions{}); err != nil {
		return err
	}
	s.Tools = append(s.Tools, t)
	return nil
}

// addLifetime keeps the shortest of several lifetimes.
func (s *schema) addLifetime(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	life := time.Duration(0)
	if zero := string(raw); zero != "0" && zero != `"0"` && zero != `"0s"` {
		var err error
		if life, err = parseTimeout(raw); err != nil {
			return fika.Errorf(fika.Invalid, "", "lifetime %s: expected seconds, or a duration such as 10m, at most %s; 0 asks at every turn", raw, maxTimeout)
		}
	}
	if s.Lifetime == nil || life < *s.Lifetime {
		s.Lifetime = &life
	}
	return nil
}

func (s *schema) addStdin(d declaration) {
	switch d.Stdin {
	case "", "terminal":
	case "json":
		s.JSON = true
	default:
		s.Notes = append(s.Notes, fmt.Sprintf("stdin is %q: expected terminal or json; terminal is taken", d.Stdin))
	}
}

func (s *schema) addAccess(d declaration) {
	switch d.Access {
	case "", "own":
	case "home":
		s.Home = true
	default:
		s.Notes = append(s.Notes, fmt.Sprintf("access is %q: expected own or home; own is taken", d.Access))
	}
}

func (s *schema) addHooks(d declaration) {
	for _, name := range d.Hooks {
		point := hook.Point(name)
		switch {
		case !slices.ContainsFunc(hook.Points(), func(doc hook.Doc) bool { return doc.Point == point }):
			s.Notes = append(s.Notes, fmt.Sprintf("hook %q not found: it is ignored", name))
		case !slices.Contains(s.Hooks, point):
			s.Hooks = append(s.Hooks, point)
		}
	}
	switch d.OnFailure {
	case "", "skip":
	case "block":
		s.Block = true
	default:
		// A misspelled guard must not become an open door.
		s.Block = true
		s.Notes = append(s.Notes, fmt.Sprintf("on_failure is %q: expected skip or block; block is taken", d.OnFailure))
	}
}

func (s *schema) declaredEffect(d declaration) fika.Effect {
	switch e := fika.Effect(d.Effect); e {
	case fika.Pure:
		if d.Parallel != nil && !*d.Parallel {
			return fika.Idempotent // may be repeated, but not in parallel
		}
		return e
	case fika.Idempotent, fika.Unsafe:
		return e
	case "":
		return fika.Unsafe
	default:
		s.Notes = append(s.Notes, fmt.Sprintf("the effect %q of %q: expected pure, idempotent or unsafe; unsafe is taken", d.Effect, d.Name))
		return fika.Unsafe
	}
}

// objectSchema checks that the parameters are those of an object, and adds the type if it
// is missing.
func objectSchema(raw json.RawMessage) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, fika.Errorf(fika.Invalid, "", "expected a JSON Schema object")
	}
	kind, ok := m["type"]
	if ok && string(kind) != `"object"` {
		return nil, fika.Errorf(fika.Invalid, "", `the type is %s: expected "object"`, kind)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	if ok {
		return b.Bytes(), nil
	}
	m["type"] = json.RawMessage(`"object"`)
	return json.Marshal(m)
}

// parseTimeout parses a number of seconds, or a duration such as "2m30s".
func parseTimeout(raw json.RawMessage) (time.Duration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, nil
	}
	var seconds float64
	var text string
	var d time.Duration
	switch {
	case json.Unmarshal(raw, &seconds) == nil:
		d = time.Duration(min(seconds, 2*maxTimeout.Seconds()) * float64(time.Second))
	case json.Unmarshal(raw, &text) == nil:
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			return 0, fika.Errorf(fika.Invalid, "", "timeout %q: expected seconds, or a duration such as 2m", text)
		}
	default:
		return 0, fika.Errorf(fika.Invalid, "", "timeout: expected seconds, or a duration such as 2m")
	}
	if d <= 0 || d > maxTimeout {
		return 0, fika.Errorf(fika.Invalid, "", "timeout %s: expected more than nothing and at most %s", raw, maxTimeout)
	}
	return d, nil
}
