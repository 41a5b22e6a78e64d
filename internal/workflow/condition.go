package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"fika/internal/settings/toml"
)

// The bounds on what one expression may cost.
const (
	maxExpression = 4 << 10 // bytes
	maxNodes      = 200
	maxMemory     = 10 * MaxItems // elements of the lists and tables that it makes
)

// calls are the functions that an expression may use: each looks at its data at most
// once, and none of them asks the clock or the system. The usual first and last are
// not among them, because those are names of data here (for the ends of a list, write
// files[0] and files[-1]).
var calls = []string{
	"all", "any", "none", "one", "count", "filter",
	"len", "min", "max", "sum",
	"lower", "upper", "trim", "hasPrefix", "hasSuffix", "split", "int", "float",
}

// condition is a compiled expression.
type condition struct {
	text    string
	program *vm.Program
	refs    []ref
}

// compileCondition compiles an expression whose value must be of kind want (a boolean
// or a list), or returns everything that is wrong with it.
func compileCondition(text, want string, sc scope) (*condition, []mistake) {
	if len(text) > maxExpression {
		return nil, []mistake{{0, fmt.Sprintf("the condition has %d bytes, more than %d: let a step decide", len(text), maxExpression)}}
	}
	config := conf.CreateNew()
	config.Strict = false
	config.MaxNodes = maxNodes
	for name := range config.Builtins {
		if !slices.Contains(calls, name) {
			config.Disabled[name] = true
			delete(config.Builtins, name)
		}
	}
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil, []mistake{expressionMistake(text, err)}
	}
	w := &conditionWalk{scope: sc, text: text}
	got := w.walk(tree.Node)
	if wrong := wrongKind(got.kind, want); wrong != "" && len(w.mistakes) == 0 {
		w.add(tree.Node, "%s: %s is %s", wrong, strings.TrimSpace(text), aKind(got.kind))
	}
	if len(w.mistakes) > 0 {
		return nil, w.mistakes
	}
	options := []expr.Option{expr.AllowUndefinedVariables(), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins()}
	for _, name := range calls {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, []mistake{expressionMistake(text, err)}
	}
	return &condition{text, program, w.refs}, nil
}

func wrongKind(got, want string) string {
	switch {
	case got == "" || got == want:
		return ""
	case want == TypeBoolean:
		return "a condition must be true or false"
	}
	return "for_each needs a list"
}

func aKind(kind string) string {
	if kind == TypeBoolean {
		return "true or false"
	}
	return "a " + kind
}

// expressionMistake turns the library's error into a message and a position.
func expressionMistake(text string, err error) mistake {
	var at *file.Error
	if !errors.As(err, &at) {
		return mistake{0, err.Error()}
	}
	return mistake{byteOffset(text, at.From), at.Message}
}

// byteOffset converts an offset in characters to one in bytes.
func byteOffset(text string, runes int) int {
	for i := range text {
		if runes == 0 {
			return i
		}
		runes--
	}
	return len(text)
}

// conditionWalk visits every node of an expression.
type conditionWalk struct {
	scope    scope
	text     string
	refs     []ref
	mistakes []mistake
	inside   int // nesting depth of predicates
}

func (w *conditionWalk) add(n ast.Node, format string, args ...any) {
	w.mistakes = append(w.mistakes, mistake{byteOffset(w.text, n.Location().From), fmt.Sprintf(format, args...)})
}

// walk visits a node and returns what is known about its value.
func (w *conditionWalk) walk(n ast.Node) shape {
	if path, first := pathOf(n); path != nil {
		at := byteOffset(w.text, first.Location().From)
		w.refs = append(w.refs, ref{path, at})
		got, wrong := w.scope.resolve(path)
		if wrong != "" {
			w.mistakes = append(w.mistakes, mistake{at, wrong})
		}
		return got
	}
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return shape{kind: TypeNumber}
	case *ast.StringNode:
		return shape{kind: TypeText}
	case *ast.BoolNode:
		return shape{kind: TypeBoolean}
	case *ast.ChainNode:
		return w.walk(n.Node)
	case *ast.UnaryNode:
		got := w.walk(n.Node)
		if n.Operator == "not" || n.Operator == "!" {
			return w.truth(n, got, n.Operator)
		}
		return shape{kind: TypeNumber}
	case *ast.BinaryNode:
		return w.binary(n)
	case *ast.MemberNode:
		w.walk(n.Node)
		w.walk(n.Property)
		return shape{}
	case *ast.SliceNode:
		return w.walkAll(n.Node, n.From, n.To)
	case *ast.BuiltinNode:
		return w.call(n)
	case *ast.CallNode:
		w.add(n, "function %s not found%s", toml.Quote(n.Callee.String()), orKnown(n.Callee.String(), calls))
		return shape{}
	case *ast.PredicateNode:
		if w.inside++; w.inside > 1 {
			w.add(n, "a predicate inside a predicate would look at every pair: split it into two steps")
		}
		w.walk(n.Node)
		w.inside--
		return shape{}
	case *ast.ConditionalNode:
		w.truth(n.Cond, w.walk(n.Cond), "?")
		a, b := w.walk(n.Exp1), w.walk(n.Exp2)
		if a.kind == b.kind {
			return shape{kind: a.kind}
		}
		return shape{}
	case *ast.ArrayNode:
		w.walkAll(n.Nodes...)
		return shape{kind: TypeList}
	case *ast.MapNode:
		for _, p := range n.Pairs {
			if pair, ok := p.(*ast.PairNode); ok {
				w.walkAll(pair.Key, pair.Value)
			}
		}
		return shape{kind: kindTable}
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		w.add(n, "variables are not for conditions: write it out, or let a step work it out")
	}
	return shape{}
}

// walkAll walks several nodes, ignoring nil ones.
func (w *conditionWalk) walkAll(nodes ...ast.Node) shape {
	for _, n := range nodes {
		if n != nil {
			w.walk(n)
		}
	}
	return shape{}
}

// truth reports a mistake if a value is not a boolean.
func (w *conditionWalk) truth(n ast.Node, got shape, operator string) shape {
	if got.kind != "" && got.kind != TypeBoolean {
		w.add(n, "%s needs true or false; this is %s", operator, aKind(got.kind))
	}
	return shape{kind: TypeBoolean}
}

func (w *conditionWalk) binary(n *ast.BinaryNode) shape {
	left, right := w.walk(n.Left), w.walk(n.Right)
	switch n.Operator {
	case "and", "&&", "or", "||":
		w.truth(n.Left, left, n.Operator)
		return w.truth(n.Right, right, n.Operator)
	case "==", "!=", "<", "<=", ">", ">=", "in", "contains", "matches", "startsWith", "endsWith":
		comparable := n.Operator[0] == '=' || n.Operator[0] == '!' || n.Operator[0] == '<' || n.Operator[0] == '>'
		if comparable && left.kind != "" && right.kind != "" && left.kind != right.kind {
			w.add(n, "%s with %s can never be equal or in order", aKind(left.kind), aKind(right.kind))
		}
		return shape{kind: TypeBoolean}
	case "..":
		return shape{kind: TypeList}
	case "??":
		return shape{}
	case "+":
		return shape{kind: left.kind}
	}
	return shape{kind: TypeNumber}
}

func (w *conditionWalk) call(n *ast.BuiltinNode) shape {
	if !slices.Contains(calls, n.Name) {
		w.add(n, "function %s not found%s", toml.Quote(n.Name), orKnown(n.Name, calls))
	}
	w.walkAll(n.Arguments...)
	switch n.Name {
	case "all", "any", "none", "one", "hasPrefix", "hasSuffix":
		return shape{kind: TypeBoolean}
	case "filter", "split":
		return shape{kind: TypeList}
	case "len", "count", "int", "float", "sum":
		return shape{kind: TypeNumber}
	case "lower", "upper", "trim":
		return shape{kind: TypeText}
	}
	return shape{}
}

// pathOf returns the names in a.b.c and the first node; nil for anything else.
func pathOf(n ast.Node) ([]string, ast.Node) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}, n
	case *ast.ChainNode:
		return pathOf(n.Node)
	case *ast.MemberNode:
		name, ok := n.Property.(*ast.StringNode)
		if !ok {
			return nil, nil
		}
		path, first := pathOf(n.Node)
		if path == nil {
			return nil, nil
		}
		return append(path, name.Value), first
	}
	return nil, nil
}

// truth evaluates a condition; any value other than true or false is an error.
func (c *condition) truth(data map[string]any) (bool, error) {
	v, err := c.eval(data)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("%s gave %s, which is neither true nor false", c.text, shown(v))
	}
	return b, nil
}

// list evaluates the expression of a for_each.
func (c *condition) list(data map[string]any) ([]any, error) {
	v, err := c.eval(data)
	if err != nil {
		return nil, err
	}
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case []int: // a range: 1..5
		for _, n := range v {
			list = append(list, n)
		}
	case []string: // the result of split
		for _, text := range v {
			list = append(list, text)
		}
	default:
		return nil, fmt.Errorf("%s gave %s, which is not a list", c.text, shown(v))
	}
	if len(list) > MaxItems {
		return nil, fmt.Errorf("%s gave %d items, more than %d", c.text, len(list), MaxItems)
	}
	return list, nil
}

func (c *condition) eval(data map[string]any) (any, error) {
	machine := vm.VM{MemoryBudget: maxMemory}
	v, err := machine.Run(c.program, native(data))
	if err != nil {
		var at *file.Error
		if errors.As(err, &at) {
			return nil, fmt.Errorf("%s: %s", c.text, at.Message)
		}
		return nil, fmt.Errorf("%s: %w", c.text, err)
	}
	return v, nil
}

// shown formats a value for a message.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("a %T", v)
	}
	return toml.Quote(string(text))
}

// native converts the numbers in data to Go's types.
func native(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
		f, err := v.Float64()
		if err != nil {
			return string(v)
		}
		return f
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = native(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = native(v[k])
		}
		return out
	}
	return v
}
