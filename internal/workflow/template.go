package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	gotemplate "text/template"
	"text/template/parse"

	"fika/internal/settings/toml"
	"fika/internal/text/speech"
)

// template is a compiled prompt: text/template without anything that could run for
// long or reach beyond its data. There is no define and no template, so no recursion;
// a range cannot contain another range; integers cannot be ranged over; and the size
// of the result is bounded.
type template struct {
	text string
	tree *gotemplate.Template // nil: there is nothing to fill in
	refs []ref
}

// maxTemplate is how many bytes a prompt may have before it is filled in.
const maxTemplate = 64 << 10

// mistake is something wrong in a text, at a byte offset.
type mistake struct {
	at      int
	message string
}

// compileTemplate returns the template, or everything that is wrong with it.
func compileTemplate(text string, sc scope) (*template, []mistake) {
	if len(text) > maxTemplate {
		return nil, []mistake{{0, fmt.Sprintf("the text has %d bytes, more than %d: put it into a file and name that", len(text), maxTemplate)}}
	}
	t := &template{text: text}
	if !strings.Contains(text, "{{") {
		return t, nil
	}
	const name = "prompt"
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	all := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", all); err != nil {
		return nil, []mistake{syntaxMistake(text, err)}
	}
	w := &templateWalk{scope: sc}
	for other := range all {
		if other != name {
			w.add(max(0, strings.Index(text, other)), "define and block are not for prompts: write the text where it is used")
		}
	}
	w.walk(tree.Root, true)
	if len(w.mistakes) > 0 {
		return nil, w.mistakes
	}
	made, err := gotemplate.New(name).Funcs(functions()).Option("missingkey=error").AddParseTree(name, tree)
	if err != nil {
		return nil, []mistake{{0, err.Error()}}
	}
	t.tree, t.refs = made, w.refs
	return t, nil
}

// syntaxMistake finds the position in a parser's error, which gives only a line.
func syntaxMistake(text string, err error) mistake {
	m := regexp.MustCompile(`(?s)^template: prompt:(\d+)(?::\d+)?: (.*)$`).FindStringSubmatch(err.Error())
	if m == nil {
		return mistake{0, err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	at := 0
	for range line - 1 {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	if here, _, _ := strings.Cut(text[at:], "\n"); strings.Contains(here, "{{") {
		at += strings.Index(here, "{{")
	}
	return mistake{at, m[2]}
}

// templateWalk visits every node of a template.
type templateWalk struct {
	scope    scope
	refs     []ref
	mistakes []mistake
	ranges   int
}

func (w *templateWalk) add(at int, format string, args ...any) {
	w.mistakes = append(w.mistakes, mistake{at, fmt.Sprintf(format, args...)})
}

// walk visits a node; root reports whether the dot is still the whole data there.
func (w *templateWalk) walk(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, one := range n.Nodes {
				w.walk(one, root)
			}
		}
	case *parse.ActionNode:
		w.walk(n.Pipe, root)
	case *parse.IfNode:
		w.branch(n.Pipe, n.List, n.ElseList, root, root)
	case *parse.WithNode:
		w.branch(n.Pipe, n.List, n.ElseList, root, false)
	case *parse.RangeNode:
		if w.ranges++; w.ranges > 1 {
			w.add(int(n.Pos), "a range inside a range: use join, or ask for a text in that form")
		}
		w.branch(n.Pipe, n.List, n.ElseList, root, false)
		w.ranges--
	case *parse.TemplateNode:
		w.add(int(n.Pos), "template is not for prompts: write the text where it is used")
	case *parse.PipeNode:
		if n == nil {
			return
		}
		if n.IsAssign {
			w.add(int(n.Pos), "a variable is set once, with :=")
		}
		for _, c := range n.Cmds {
			for _, a := range c.Args {
				w.walk(a, root)
			}
		}
	case *parse.ChainNode:
		w.walk(n.Node, root)
	case *parse.FieldNode:
		if root {
			w.refer(n.Ident, fieldAt(n))
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			w.refer(n.Ident[1:], int(n.Pos))
		}
	case *parse.IdentifierNode:
		// and and or belong to the language itself: they stop once the result is
		// known.
		if known := slices.Sorted(maps.Keys(functions())); n.Ident != "and" && n.Ident != "or" && !slices.Contains(known, n.Ident) {
			w.add(int(n.Pos), "function %s not found%s", toml.Quote(n.Ident), orKnown(n.Ident, known))
		}
	case *parse.DotNode:
		if root {
			w.add(int(n.Pos), "a dot alone is everything at once: say what is meant, as in .inputs.NAME or .steps.NAME.output")
		}
	}
}

// fieldAt returns where .a.b.c begins; the parser gives the position of its second
// name.
func fieldAt(n *parse.FieldNode) int {
	if len(n.Ident) == 1 {
		return int(n.Pos)
	}
	return max(0, int(n.Pos)-len(n.Ident[0])-1)
}

func (w *templateWalk) branch(pipe *parse.PipeNode, list, other *parse.ListNode, root, inside bool) {
	w.walk(pipe, root)
	w.walk(list, inside)
	w.walk(other, root)
}

func (w *templateWalk) refer(path []string, at int) {
	w.refs = append(w.refs, ref{path, at})
	if _, wrong := w.scope.resolve(path); wrong != "" {
		w.add(at, "%s", wrong)
	}
}

// render fills in the template. It fails if something is missing or if the text would
// be larger than [MaxPrompt].
func (t *template) render(data map[string]any) (string, error) {
	if t == nil {
		return "", nil
	}
	if t.tree == nil {
		return t.text, nil
	}
	var b bounded
	if err := t.tree.Execute(&b, data); err != nil {
		var exec gotemplate.ExecError
		if errors.As(err, &exec) {
			err = exec.Err
		}
		return "", fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return b.String(), nil
}

// bounded is a buffer that takes no more than [MaxPrompt].
type bounded struct{ bytes.Buffer }

var errTooLong = errors.New("the text would be longer than " + strconv.Itoa(MaxPrompt>>10) + " KiB: pass on less, or the name of a file")

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > MaxPrompt {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

// functions returns everything that a template may call. The usual printing functions
// are bounded; the comparing ones take numbers in any representation.
func functions() gotemplate.FuncMap {
	return gotemplate.FuncMap{
		"not": truthless, "len": length, "index": index,
		"print":  func(args ...any) (string, error) { return short(fmt.Sprint(args...)) },
		"printf": func(f string, args ...any) (string, error) { return short(fmt.Sprintf(f, args...)) },
		"lower":  strings.ToLower,
		"upper":  strings.ToUpper,
		"trim":   strings.TrimSpace,
		"join":   join,
		"quote":  speech.QuoteLines,
		"json":   toJSON,
		"eq":     func(a, b any) bool { return compare(a, b) == 0 },
		"ne":     func(a, b any) bool { return compare(a, b) != 0 },
		"lt":     func(a, b any) bool { return compare(a, b) == -1 },
		"le":     func(a, b any) bool { c := compare(a, b); return c == -1 || c == 0 },
		"gt":     func(a, b any) bool { return compare(a, b) == 1 },
		"ge":     func(a, b any) bool { c := compare(a, b); return c == 1 || c == 0 },
	}
}

func truthless(v any) bool {
	truth, _ := gotemplate.IsTrue(v)
	return !truth
}

func length(v any) (json.Number, error) {
	n := 0
	switch v := v.(type) {
	case nil:
	case string:
		n = len([]rune(v))
	case []any:
		n = len(v)
	case map[string]any:
		n = len(v)
	default:
		return "", fmt.Errorf("len of what is not a text, list or table")
	}
	return json.Number(strconv.Itoa(n)), nil
}

// index returns an element of a list or table.
func index(of, at any) (any, error) {
	switch of := of.(type) {
	case map[string]any:
		if v, ok := of[fmt.Sprint(at)]; ok {
			return v, nil
		}
		return nil, fmt.Errorf("there is no %v in it", at)
	case []any:
		i, err := strconv.Atoi(fmt.Sprint(at))
		if err != nil || i < 0 || i >= len(of) {
			return nil, fmt.Errorf("there is no element %v in a list of %d", at, len(of))
		}
		return of[i], nil
	}
	return nil, fmt.Errorf("index of what is not a list or table")
}

func join(list any, between string) (string, error) {
	items, ok := list.([]any)
	if !ok {
		return "", fmt.Errorf("join of what is not a list")
	}
	var b bounded
	for i, item := range items {
		if i > 0 {
			item = between + fmt.Sprint(item)
		}
		if _, err := fmt.Fprint(&b, item); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func toJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return short(string(text))
}

func short(s string) (string, error) {
	if len(s) > MaxPrompt {
		return "", errTooLong
	}
	return s, nil
}

// compare returns -1, 0 or 1 for two numbers or two texts. For all other values it
// returns 0 if they are equal and 2 if not.
func compare(a, b any) int {
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		return x.Cmp(y)
	}
	s, okS := a.(string)
	t, okT := b.(string)
	if okS && okT {
		return strings.Compare(s, t)
	}
	left, errL := json.Marshal(a)
	right, errR := json.Marshal(b)
	if errL == nil && errR == nil && bytes.Equal(left, right) {
		return 0
	}
	return 2
}

func number(v any) (*big.Float, bool) {
	switch v := v.(type) {
	case json.Number:
		f, _, err := big.ParseFloat(string(v), 10, 64, big.ToNearestEven)
		return f, err == nil
	case int:
		return new(big.Float).SetInt64(int64(v)), true
	case float64:
		return big.NewFloat(v), v == v
	}
	return nil, false
}

func errorOf(m mistake) error { return errors.New(m.message) }
