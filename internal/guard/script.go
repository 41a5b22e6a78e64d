package guard

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxNesting bounds how deep code within code is parsed: sh -c 'sh -c …'.
const maxNesting = 8

// SimpleCommands parses a text as bash would and lists every simple command in it,
// wrappers before what they wrap. A text that cannot be parsed is one unsure command; an
// empty one has none.
func SimpleCommands(text string) []SimpleCommand {
	s := reader{}
	s.read(text, 0)
	if s.unsure && len(s.commands) == 0 {
		s.commands = []SimpleCommand{{Words: []Word{{Text: text}}}}
	}
	for i := range s.commands {
		s.commands[i].Unsure = s.commands[i].Unsure || s.unsure
	}
	return s.commands
}

// RedirectTargets lists the files that the redirections of a text write to or read from.
func RedirectTargets(text string) []Word {
	s := reader{}
	s.read(text, 0)
	return s.targets
}

// reader collects what a text runs and touches.
type reader struct {
	commands []SimpleCommand
	targets  []Word
	unsure   bool // something makes every command unsure
	moved    bool // the working folder changes
}

func (s *reader) read(text string, depth int) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || depth > maxNesting {
		s.commands = append(s.commands, SimpleCommand{Words: []Word{{Text: text}}, Unsure: true})
		return
	}
	first := len(s.commands)
	syntax.Walk(file, func(n syntax.Node) bool {
		s.visit(n, depth)
		return true
	})
	if s.moved { // ./run is a different file elsewhere
		for i, c := range s.commands[first:] {
			if len(c.Words) > 0 && c.Words[0].Known && strings.Contains(c.Words[0].Text, "/") && !strings.HasPrefix(c.Words[0].Text, "/") {
				s.commands[first+i].Elsewhere = true
			}
		}
	}
}

// visit records what one node of the syntax tree runs, touches or makes unsure.
func (s *reader) visit(n syntax.Node, depth int) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			s.call(n, depth)
		}
	case *syntax.DeclClause:
		s.declaration(n)
	case *syntax.Assign:
		s.assigned(n.Name)
		s.arithmetic(n.Index)
	case *syntax.WordIter:
		s.assigned(n.Name)
	case *syntax.Redirect:
		if n.Word != nil && n.Hdoc == nil && n.Op != syntax.WordHdoc && n.Op != syntax.DplIn && n.Op != syntax.DplOut {
			s.targets = append(s.targets, wordOf(n.Word))
		}
	case *syntax.ParamExp:
		s.parameter(n)
	case *syntax.ArithmExp:
		s.arithmetic(n.X)
	case *syntax.ArithmCmd:
		s.arithmetic(n.X)
	case *syntax.LetClause, *syntax.CStyleLoop, *syntax.CoprocClause:
		s.unsure = true
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			s.unsure = s.unsure || !isNumber(n.X) || !isNumber(n.Y) // names are evaluated as arithmetic
		}
	case *syntax.UnaryTest:
		s.unsure = s.unsure || n.Op == syntax.TsVarSet
	}
}

// call records a simple command, and the command that it runs in turn.
func (s *reader) call(n *syntax.CallExpr, depth int) {
	c := SimpleCommand{}
	for _, w := range n.Args {
		c.Words = append(c.Words, wordOf(w))
	}
	for _, a := range n.Assigns {
		c.Unsure = c.Unsure || a.Name != nil && dangerous(a.Name.Value)
	}
	if !c.Words[0].Known {
		c.Unsure = true
	}
	s.note(c, depth)
}

func (s *reader) note(c SimpleCommand, depth int) {
	if depth > maxNesting {
		c.Unsure = true
		s.commands = append(s.commands, c)
		return
	}
	s.builtin(c)
	if len(c.Words) > 0 && c.Words[0].Known && onlySteers(c.Words[0].Text) {
		return
	}
	c = c.withoutGitOptions()
	inner, code := c.unwrap()
	c.Wrapper = len(inner) > 0 || len(code) > 0
	s.commands = append(s.commands, c)
	for _, in := range inner {
		if len(in.Words) > 0 && !in.Words[0].Known {
			in.Unsure = true
		}
		s.note(in, depth+1)
	}
	for _, text := range code {
		s.read(text, depth+1)
	}
}

// builtin looks for shell commands that run code or change what later commands mean.
func (s *reader) builtin(c SimpleCommand) {
	if len(c.Words) == 0 || !c.Words[0].Known {
		return
	}
	switch c.Words[0].Text {
	case "eval", "source", ".", "alias", "hash", "enable", "shopt", "bind", "complete", "compgen", "let":
		s.unsure = true
	case "cd", "pushd", "popd":
		s.moved = true
	case "read", "printf", "mapfile", "readarray", "getopts", "unset", "wait", "test", "[", "declare", "typeset", "local", "export", "readonly":
		for _, w := range c.Words[1:] {
			name, _, _ := strings.Cut(w.Text, "=")
			// A name with an index in it is evaluated, and a name may be PATH.
			if !w.Known && c.Words[0].Text != "printf" && c.Words[0].Text != "test" && c.Words[0].Text != "[" ||
				w.Known && hasIndex(w.Text) || dangerous(name) || w.Text == "-v" || w.Text == "-C" {
				s.unsure = true
			}
		}
	}
}

// onlySteers reports whether a shell command only steers the shell.
func onlySteers(name string) bool {
	switch name {
	case "true", "false", ":", "break", "continue", "return", "exit", "shift":
		return true
	}
	return false
}

// hasIndex reports whether a word contains a name with an index, as in a[1].
func hasIndex(word string) bool {
	at := strings.Index(word, "[")
	return at > 0 && syntax.ValidName(word[:at])
}

// declaration examines export, declare and similar commands.
func (s *reader) declaration(n *syntax.DeclClause) {
	for _, a := range n.Args {
		if a.Naked && a.Name == nil { // an option, or a name that is not known yet
			if w := wordOf(a.Value); !w.Known || strings.ContainsAny(w.Text, "in[") {
				s.unsure = true
			}
		}
	}
}

func (s *reader) assigned(name *syntax.Lit) {
	s.unsure = s.unsure || name != nil && dangerous(name.Value)
}

// parameter looks for expansions that evaluate: an index, a slice, an indirection, a
// prompt, an assignment.
func (s *reader) parameter(n *syntax.ParamExp) {
	if n.Index != nil && !isAll(n.Index) {
		s.arithmetic(n.Index)
	}
	if n.Slice != nil {
		s.arithmetic(n.Slice.Offset)
		s.arithmetic(n.Slice.Length)
	}
	if n.Excl {
		s.unsure = true
	}
	if n.Exp == nil {
		return
	}
	switch n.Exp.Op {
	case syntax.OtherParamOps:
		s.unsure = true
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		s.assigned(n.Param)
	}
}

// arithmetic makes everything unsure unless an expression consists of numbers: names in
// it are evaluated in turn, including command substitutions in their values.
func (s *reader) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && !numeric(w.Lit()) {
			s.unsure = true
		}
		return true
	})
}

// numeric reports whether text is a whole number.
func numeric(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

func isNumber(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && numeric(w.Lit())
}

// isAll reports whether an index is @ or *.
func isAll(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}
