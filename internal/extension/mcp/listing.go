package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika"
	"fika/internal/text/safetext"
	"fika/internal/tool"
)

// Tool is one tool as a server describes it.
type Tool struct {
	Name        string          `json:"name"` // as the server calls it
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	// ReadOnly and Idempotent are what the server says about repeating a call.
	ReadOnly   bool `json:"read_only,omitempty"`
	Idempotent bool `json:"idempotent,omitempty"`
}

// Limits on what is accepted from servers.
const (
	maxTools       = 128      // of one server; more would overwhelm a model
	maxListed      = 4096     // tools in all pages of a listing, before any are selected
	maxSchema      = 64 << 10 // of one tool
	maxDescription = 16 << 10
	maxToolName    = 64
)

// list asks a server for its tools. Error kinds: Invalid, Limit, and those of the
// connection.
func list(ctx context.Context, c *sdk.ClientSession, s Server) (Listing, error) {
	var l Listing
	if r := c.InitializeResult(); r != nil && r.ServerInfo != nil {
		l.Says = safetext.Line(strings.TrimSpace(r.ServerInfo.Name + " " + r.ServerInfo.Version))
	}
	taken := map[string]string{} // by the name that agents use
	found := map[string]bool{}
	n := 0
	for t, err := range c.Tools(ctx, nil) {
		if err != nil {
			return l, err
		}
		if n++; n > maxListed {
			return l, fika.Errorf(fika.Invalid, "", "it lists more than %d tools", maxListed)
		}
		if t == nil || s.Tools != nil && !slices.Contains(s.Tools, t.Name) {
			continue
		}
		found[t.Name] = true
		l.add(s, t, taken)
	}
	for _, name := range s.Tools {
		if !found[name] {
			l.LeftOut = append(l.LeftOut, LeftOut{name, "the server has no such tool (tools = [...] names it)"})
		}
	}
	if len(l.Tools) > maxTools && s.Session {
		return l, fika.Errorf(fika.Limit, "", "it has %d tools, and a server with more than %d is not used", len(l.Tools), maxTools)
	}
	if len(l.Tools) > maxTools {
		return l, fika.Errorf(fika.Limit, "", "it has %d tools, and at most %d are offered: name those you want, as in tools = [%q, %q]", len(l.Tools), maxTools, l.Tools[0].Name, l.Tools[1].Name)
	}
	slices.SortFunc(l.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

// add adds a tool to the listing, or notes why it is left out.
func (l *Listing) add(s Server, t *sdk.Tool, taken map[string]string) {
	leave := func(format string, args ...any) {
		l.LeftOut = append(l.LeftOut, LeftOut{clip(safetext.Line(t.Name), 100), fmt.Sprintf(format, args...)})
	}
	name := ToolName(s.Name, t.Name)
	switch {
	case t.Name == "":
		leave("it has no name")
		return
	case len(name) > maxToolName:
		leave("%s is %d characters long, and models take %d: a shorter name for the server may do", clip(name, 100), len(name), maxToolName)
		return
	case taken[name] != "":
		leave("agents would call it %s, as another one (%s)", name, clip(taken[name], 100))
		return
	}
	params, err := parameters(t.InputSchema)
	if err != nil {
		leave("%v", err)
		return
	}
	taken[name] = t.Name
	out := Tool{Name: t.Name, Description: describe(t), Parameters: params}
	if a := t.Annotations; a != nil {
		out.ReadOnly, out.Idempotent = a.ReadOnlyHint, a.IdempotentHint
	}
	// The rules for every tool apply here too.
	if _, err := tool.NewSet([]tool.Tool{&serverTool{spec: out.spec(s)}}, tool.Permissions{}); err != nil {
		leave("%v", err)
		return
	}
	l.Tools = append(l.Tools, out)
}

// parameters returns a schema as the model is shown it: of an object, in a canonical
// encoding.
func parameters(schema any) (json.RawMessage, error) {
	if schema == nil {
		schema = map[string]any{}
	}
	m, ok := schema.(map[string]any)
	if !ok {
		return nil, fika.Errorf(fika.Invalid, "", "its inputSchema is not a JSON Schema object")
	}
	switch kind := m["type"].(type) {
	case nil:
		m["type"] = "object"
	case string:
		if kind != "object" {
			return nil, fika.Errorf(fika.Invalid, "", "its inputSchema is one of %s: expected an object", clip(safetext.Line(kind), 40))
		}
	default:
		return nil, fika.Errorf(fika.Invalid, "", "the type of its inputSchema is not a text: expected \"object\"")
	}
	if kind := unknownType(m); kind != "" {
		return nil, fika.Errorf(fika.Invalid, "", "its inputSchema has a value of the type %q, which JSON Schema does not know", clip(safetext.Line(kind), 40))
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxSchema {
		return nil, fika.Errorf(fika.Limit, "", "its inputSchema has %d bytes, and at most %d are taken", len(raw), maxSchema)
	}
	return raw, nil
}

// describe returns what the model reads about a tool: plain text without terminal control
// sequences.
func describe(t *sdk.Tool) string {
	text := strings.TrimSpace(safetext.Plain(t.Description))
	if text == "" {
		text = strings.TrimSpace(safetext.Line(t.Title))
	}
	if text == "" {
		text = "(the server says nothing about it)"
	}
	return clip(text, maxDescription)
}

// clip shortens s to at most n bytes, at a character boundary, and appends an ellipsis.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func (t Tool) spec(s Server) tool.Spec {
	effect := fika.Unsafe
	switch {
	case s.Trust && t.ReadOnly:
		effect = fika.Pure
	case s.Trust && t.Idempotent:
		effect = fika.Idempotent
	}
	return tool.Spec{
		Name: ToolName(s.Name, t.Name), Description: t.Description, Parameters: t.Parameters,
		Effect: effect, Timeout: s.Timeout + margin, Extra: true,
	}
}

// same reports whether two descriptions of a tool are the same.
func (t Tool) same(o Tool) bool {
	return t.Name == o.Name && t.Description == o.Description && bytes.Equal(compact(t.Parameters), compact(o.Parameters)) &&
		t.ReadOnly == o.ReadOnly && t.Idempotent == o.Idempotent
}

// compact removes the indentation that a schema gets in a file.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// find returns the tool with a name.
func (l Listing) find(name string) (Tool, bool) {
	i := slices.IndexFunc(l.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return l.Tools[i], true
}

// Change is one difference between what was agreed to and what a server says now.
type Change struct {
	Tool string `json:"tool"`
	What string `json:"what"` // "new", "gone", "description", "parameters", "effect"
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
}

// Changes lists the differences between l and now.
func (l Listing) Changes(now Listing) []Change {
	var out []Change
	for _, t := range l.Tools {
		n, ok := now.find(t.Name)
		if !ok {
			out = append(out, Change{Tool: t.Name, What: "gone"})
			continue
		}
		out = append(out, t.changes(n)...)
	}
	for _, n := range now.Tools {
		if _, ok := l.find(n.Name); !ok {
			out = append(out, Change{Tool: n.Name, What: "new", Is: n.Description}, Change{Tool: n.Name, What: "parameters", Is: string(compact(n.Parameters))})
		}
	}
	return out
}

func (t Tool) changes(n Tool) (out []Change) {
	add := func(what, was, is string) {
		if was != is {
			out = append(out, Change{t.Name, what, was, is})
		}
	}
	add("description", t.Description, n.Description)
	add("parameters", string(compact(t.Parameters)), string(compact(n.Parameters)))
	add("effect", t.effect(), n.effect())
	return out
}

func (t Tool) effect() string {
	switch {
	case t.ReadOnly:
		return "only reads"
	case t.Idempotent:
		return "twice is as good as once"
	}
	return "may change things"
}

// Effect returns in words what the server says about repeating a call of the tool.
func (t Tool) Effect() string { return t.effect() }
