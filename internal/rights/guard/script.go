package guard

import (
	"path/filepath"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxNesting bounds how deep code within code is parsed: sh -c 'sh -c …'.
const maxNesting = 8

// SimpleCommands parses a text as bash would in a folder and lists every simple command
// in it, wrappers before what they wrap. A text that cannot be parsed is one unsure
// command; an empty one has none.
func SimpleCommands(text, folder string) []SimpleCommand {
	return readScript(text, folder).commands
}

// RedirectTargets lists the files that the redirections of a text write to or read from.
func RedirectTargets(text, folder string) []Word {
	return readScript(text, folder).targets
}

// readScript collects what a text runs and touches.
func readScript(text, folder string) *reader {
	s := &reader{folder: folder}
	s.read(text, 0)
	if s.unsure && len(s.commands) == 0 {
		s.commands = []SimpleCommand{{Words: []Word{{Text: text}}}}
	}
	for i := range s.commands {
		c := &s.commands[i]
		c.Unsure = c.Unsure || s.unsure
		c.Altered = c.Altered || s.moved || s.exported
	}
	for _, list := range [][]Word{s.targets, s.writes} {
		for i, t := range list { // what a relative path names is not known any more
			list[i].Known = t.Known && !(s.moved && !strings.HasPrefix(t.Text, "/"))
		}
	}
	return s
}

// reader collects what a text runs and touches.
type reader struct {
	folder   string // in which the text runs
	commands []SimpleCommand
	targets  []Word // of redirections
	writes   []Word // those of them that are written
	unsure   bool   // something makes every command unsure
	moved    bool   // the working folder changes
	exported bool   // a variable of the environment changes
}

func (s *reader) read(text string, depth int) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || depth > maxNesting {
		s.commands = append(s.commands, SimpleCommand{Words: []Word{{Text: text}}, Unsure: true})
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		s.visit(n, depth)
		return true
	})
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
		if n.Name != nil {
			s.assigned(n.Name.Value, assignedValue(n))
		}
		s.arithmetic(n.Index)
	case *syntax.WordIter:
		s.assigned(n.Name.Value, Word{})
	case *syntax.Redirect:
		if n.Word != nil && n.Hdoc == nil && n.Op != syntax.WordHdoc && n.Op != syntax.DplIn && n.Op != syntax.DplOut {
			s.targets = append(s.targets, wordOf(n.Word))
			if n.Op != syntax.RdrIn {
				s.writes = append(s.writes, wordOf(n.Word))
			}
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
		if a.Name != nil {
			c.Altered = c.Altered || effectOf(a.Name.Value, assignedValue(a)) != harmless
		}
	}
	if c.Words[0].Text == "--" && len(c.Words) > 1 { // time -- command
		c.Words = c.Words[1:]
	}
	s.note(c, depth)
}

// assignedValue returns what a variable is set to, and a word that is not known for a
// list or an addition.
func assignedValue(a *syntax.Assign) Word {
	if a.Append || a.Array != nil || a.Naked {
		return Word{}
	}
	return wordOf(a.Value)
}

// note records a command and what it runs in turn, to which applies what is known about
// the command.
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
	before := c
	r := c.examine()
	at := len(s.commands)
	s.commands = append(s.commands, c)
	for _, in := range r.commands {
		s.note(in, depth+1)
	}
	for _, text := range r.code {
		s.read(text, depth+1)
	}
	inner := s.commands[at+1:]
	for i := range inner {
		in := &inner[i]
		if own := &s.commands[at]; r.outer { // a rule that allows it speaks for all that it runs
			own.Unsure, own.Script = own.Unsure || in.Unsure, own.Script || in.Script
			if in.Named > 0 {
				own.Named = max(own.Named, r.at+in.Named)
			}
		}
		in.Unsure = in.Unsure || before.Unsure || r.unsure
		in.Altered = in.Altered || before.Altered || r.altered
		in.Partial = in.Partial || r.outer
	}
	runs := len(r.commands)+len(r.code) > 0
	s.commands[at].Unsure = s.commands[at].Unsure || runs && r.outer && r.unsure || r.unsure && len(inner) == 0
	s.commands[at].Partial = s.commands[at].Partial || runs && !r.outer && !r.fully
}

// builtin looks for shell commands that run code or change what later commands mean.
func (s *reader) builtin(c SimpleCommand) {
	if len(c.Words) == 0 || !c.Words[0].Known {
		return
	}
	args := c.Words[1:]
	switch c.Words[0].Text {
	case "eval", "source", ".", "alias", "hash", "enable", "shopt", "bind", "complete", "compgen", "let", "fc":
		s.unsure = true
	case "cd":
		s.moved = s.moved || len(args) != 1 || !args[0].Known || args[0].Text != "." && (!filepath.IsAbs(args[0].Text) || filepath.Clean(args[0].Text) != filepath.Clean(s.folder))
	case "pushd", "popd":
		s.moved = true
	case "set": // -a exports what is assigned, -k takes assignments for variables of the environment
		for _, w := range args {
			option := strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+")
			s.unsure = s.unsure || !w.Known || option && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text[1:], "ak") || has("allexport keyword", w.Text)
		}
	case "read", "printf", "mapfile", "readarray", "getopts", "unset", "wait", "test", "[", "declare", "typeset", "local", "export", "readonly":
		for _, w := range args {
			name, _, _ := strings.Cut(w.Text, "=")
			// A name with an index in it is evaluated, and a name may be PATH.
			if !w.Known && c.Words[0].Text != "printf" && c.Words[0].Text != "test" && c.Words[0].Text != "[" ||
				w.Known && hasIndex(w.Text) || effectOf(name, Word{}) == redirects || w.Text == "-v" || w.Text == "-C" {
				s.unsure = true
			}
		}
	}
}

// onlySteers reports whether a shell command only steers the shell.
func onlySteers(name string) bool {
	switch name {
	case "true", "false", ":", "break", "continue", "return", "exit", "shift", "set":
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
	exports := n.Variant.Value == "export"
	for _, a := range n.Args {
		if a.Naked && a.Name == nil { // an option, or a name that is not known yet
			w := wordOf(a.Value)
			if !w.Known || strings.ContainsAny(w.Text, "in[") {
				s.unsure = true
			}
			exports = exports || strings.Contains(w.Text, "x")
		}
	}
	for _, a := range n.Args {
		if exports && a.Name != nil && effectOf(a.Name.Value, assignedValue(a)) != harmless {
			s.exported = true
		}
	}
}

func (s *reader) assigned(name string, value Word) {
	s.unsure = s.unsure || effectOf(name, value) == redirects
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
		if n.Param != nil {
			s.assigned(n.Param.Value, Word{})
		}
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
