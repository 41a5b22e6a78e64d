package guard

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// examine finds out what a command runs in turn, and marks in it what cannot be known.
func (c *SimpleCommand) examine() running {
	name := c.name()
	if name == "" {
		c.Unsure = true
		return running{}
	}
	switch p := c.Words[0].Text; {
	case strings.Contains(p, "/") && !inSystem(p), has(".sh .bash .zsh .py .pl .rb .js .mjs .cjs .ts .php .lua", path.Ext(name)):
		c.Script, c.Named = true, 1
	}
	if shell, ok := shells()[name]; ok {
		return c.shell(shell)
	}
	if i, ok := interpreters()[strings.TrimRight(name, "0123456789.")]; ok {
		return c.interpreter(i)
	}
	if w, own, ok := c.findWrapper(); ok {
		return w.unwrap(c, own)
	}
	c.nameOptions()
	args := c.Words[1:]
	switch {
	case name == "git" || strings.HasPrefix(name, "git-"):
		return c.git()
	case name == "find":
		return c.find("-exec -execdir -ok -okdir")
	case name == "fd", name == "fdfind":
		return c.find("-x --exec -X --exec-batch")
	case name == "trap":
		if len(args) > 0 && args[0].Text == "--" {
			args = args[1:]
		}
		switch {
		case len(args) > 0 && !args[0].Known:
			c.Unsure = true
		case len(args) > 0 && !strings.HasPrefix(args[0].Text, "-"):
			return running{code: []string{args[0].Text}}
		}
	case name == "busybox", name == "toybox":
		if len(args) > 0 {
			return running{commands: []SimpleCommand{{Words: args}}, at: 1}
		}
	case name == "sed", name == "gsed":
		c.sed()
	case has("awk gawk mawk nawk original-awk", name):
		c.awk()
	case has(opaque, name):
		c.Unsure = c.Unsure || !c.onlyAsks()
	}
	return running{}
}

// inSystem reports whether a program's path leads to where the system installs programs.
func inSystem(p string) bool {
	p = path.Clean(p)
	for _, dir := range []string{"/bin/", "/sbin/", "/usr/", "/opt/", "/lib/", "/lib64/", "/nix/store/", "/snap/bin/", "/run/current-system/", "/System/", "/Applications/", "/Library/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}

// onlyAsks reports whether a command only asks a program for its version or help.
func (c SimpleCommand) onlyAsks() bool {
	return len(c.Words) == 2 && c.Words[1].Known && has("--version -version -V -v --help version", c.Words[1].Text)
}

// shells returns the programs that read code as this package does. The grammar's +
// options are read as those with -.
var shells = sync.OnceValue(func() map[string]grammar {
	posix := grammar{short: "abCefhiklmnprstuvxBEHPTcDo:O:", long: "debug debugger dump-po-strings dump-strings help init-file= rcfile= login noediting noprofile norc posix pretty-print restricted verbose version"}
	out := map[string]grammar{}
	for _, name := range strings.Fields("sh bash rbash dash ash zsh ksh mksh oksh lksh pdksh yash") {
		out[name] = posix
	}
	return out
})

// shell returns the code that a shell is given with -c. Any other program that it reads
// cannot be known.
func (c *SimpleCommand) shell(g grammar) running {
	words := append([]Word{}, c.Words[1:]...)
	for i, w := range words {
		if !w.Known || !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+") {
			break
		}
		if strings.HasPrefix(w.Text, "+") {
			words[i].Text = "-" + w.Text[1:]
		}
	}
	p := g.parse(words)
	_, asks := p.given("help version dump-strings dump-po-strings pretty-print")
	_, code := p.given("c")
	_, input := p.given("s init-file rcfile debugger")
	_, checks := p.given("n")
	switch {
	case c.Unsure:
	case p.unsure || input:
		c.Unsure = true
	case asks, checks && len(p.options) == 1 && len(p.operands) > 0:
	case code && len(p.operands) > 0 && p.operands[0].Known:
		return running{code: []string{p.operands[0].Text}}
	case code:
		c.Unsure = true
	default:
		c.script(p)
	}
	return running{}
}

// script marks a command whose program is its first operand or, without one, standard
// input.
func (c *SimpleCommand) script(p parsed) {
	if len(p.operands) == 0 || !p.operands[0].Known || p.operands[0].Text == "-" {
		c.Unsure = true
		return
	}
	file := path.Clean(p.operands[0].Text)
	if strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/") {
		c.Unsure = true
	}
	c.Script, c.Named = true, 2+p.at
}

// interpreter is how a program takes a program in a language of its own.
type interpreter struct {
	grammar
	code string // options that bring code, or let it come from standard input
	runs string // options that need no program: they say what is done
}

var interpreters = sync.OnceValue(func() map[string]interpreter {
	out := map[string]interpreter{
		"python": {code: "c i", runs: "m V version h help help-all help-env help-xoptions",
			grammar: grammar{short: "bBdEhiIOPqRsSuvVxW:X:c:m:", ends: "c m", long: "version help help-all help-env help-xoptions check-hash-based-pycs="}},
		"node": {code: "e eval p print r require import loader experimental-loader i interactive", runs: "v version h help c check test run",
			grammar: grammar{short: "chivr:e:p:C:", ends: "run", long: "version help check interactive eval= print= require= import= loader= experimental-loader= test test-only test-reporter= test-name-pattern= watch run= no-warnings trace-warnings enable-source-maps experimental-strip-types experimental-vm-modules max-old-space-size= stack-size= env-file="}},
		"perl": {code: "e E M m I d D n p i x S", runs: "v V h ?", grammar: grammar{short: "acfgstTuUwWXvhe:E:M:m:I:D::V::d::i::x::l::0::npS"}},
		"ruby": {code: "e r I n p i x S", runs: "v version h help copyright c", grammar: grammar{short: "acdhlnpsSvwyr:e:I:i::x::C:E:F:K:T::W::0::", long: "version help copyright verbose yjit jit disable= enable="}},
		"php": {code: "r R B E F a c d z", runs: "v version i m h help l S ini",
			grammar: grammar{short: "achilmnqsvwCr:R:B:E:F:d:z:f:S:t:", long: "version help ini no-php-ini define= syntax-check"}},
		"deno": {code: "eval - repl", runs: "test check fmt lint info cache task add install doc bench --version -V --help", grammar: grammar{}},
		"bun":  {code: "repl exec", runs: "test install add run build x pm remove update --version -v --help", grammar: grammar{}},
	}
	for name, like := range map[string]string{"pypy": "python", "nodejs": "node", "jruby": "ruby"} {
		out[name] = out[like]
	}
	for _, name := range strings.Fields("lua luajit tclsh wish osascript Rscript R julia guile racket groovy elixir escript pwsh powershell jshell irb ghci runghc runhaskell " +
		"scala ts-node tsx fish csh tcsh rc es nu elvish xonsh sbcl clisp ocaml raku octave gawkvis") {
		out[name] = interpreter{}
	}
	return out
})

// interpreter marks a command whose program comes from a file, an argument or standard
// input.
func (c *SimpleCommand) interpreter(i interpreter) running {
	if len(c.Words) > 1 && c.Words[1].Known { // what some take as words, others take as options
		switch first := c.Words[1].Text; {
		case has(i.code, first):
			c.Unsure = true
			return running{}
		case has(i.runs, first), c.onlyAsks():
			c.nameOptions()
			return running{}
		case has("run", first) && len(c.Words) > 2:
			p := grammar{}.parse(c.Words[2:])
			p.at++
			c.Unsure = c.Unsure || p.unsure
			c.script(p)
			return running{}
		}
	}
	p := i.parse(c.Words[1:])
	_, code := p.given(i.code)
	_, runs := p.given(i.runs)
	switch {
	case p.unsure || code:
		c.Unsure = true
	case runs:
	default:
		c.script(p)
	}
	return running{}
}

// find returns the commands after -exec and similar options, which is all that rules
// about the program do not see.
func (c SimpleCommand) find(options string) running {
	r := running{fully: true}
	for i := 0; i < len(c.Words); i++ {
		if !c.Words[i].Known {
			r.unsure = r.unsure || i == 0
			continue
		}
		if !has(options, c.Words[i].Text) {
			continue
		}
		end := i + 1
		for end < len(c.Words) && !(c.Words[end].Known && (c.Words[end].Text == ";" || c.Words[end].Text == "+")) {
			end++
		}
		if words := append(standIn(c.Words[i+1:end], ""), Word{}); len(words) > 1 {
			r.commands, r.at = append(r.commands, SimpleCommand{Words: words}), i+1
		}
		i = end
	}
	return r
}

// awk marks a program that can run commands: those of awk do so with system, a pipe or
// what they load.
func (c *SimpleCommand) awk() {
	p := grammar{short: "F:v:f:E:i:l:e:bcCghIkMnNOPrsStVo::p::d::D::L::", long: "field-separator= assign= file= source= include= load= exec= version help posix traditional csv"}.parse(c.Words[1:])
	_, file := p.given("f file E exec i include l load D d debug")
	e, source := p.given("e source")
	_, asks := p.given("V version h help")
	program := e.value
	if !source && len(p.operands) > 0 {
		program = p.operands[0]
	}
	text := strings.ReplaceAll(program.Text, "||", "")
	switch {
	case asks && !p.unsure:
	case p.unsure, file, !program.Known, strings.Contains(text, "system"), strings.ContainsAny(text, "|@"):
		c.Unsure = true
	}
}

// plainSed matches sed scripts of which it is plain that they run no command and write
// no file: addresses, and the usual commands.
var plainSed = sync.OnceValue(func() *regexp.Regexp {
	address := `(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\[^\n])*/I?)`
	part := func(delimiter string) string { return `(?:[^\\\n` + delimiter + `]|\\[^\n])*` }
	substitute := ``
	for _, d := range []string{`/`, `|`, `#`, `,`, `@`, `:`, `!`, `%`} {
		q := regexp.QuoteMeta(d)
		substitute += `|[sy]` + q + part(q) + q + part(q) + q + `[gpiI0-9]*`
	}
	command := `(?:` + address + `(?:,\s*(?:\+\d+|` + address + `))?)?\s*!?\s*(?:[pdDPnNqQ=hHgGxlz]` + substitute + `|[aic]\\?[^\n]*)?`
	return regexp.MustCompile(`^\s*\{?\s*` + command + `(?:\s*[;\n{}]\s*` + command + `)*\s*\}?\s*$`)
})

// sed marks a script that may run commands: GNU sed does with e.
func (c *SimpleCommand) sed() {
	p := grammar{anywhere: true, short: "nEruszbe:f:i::l:", long: "quiet silent regexp-extended in-place=? expression= file= separate null-data posix sandbox debug line-length= follow-symlinks unbuffered help version"}.parse(c.Words[1:])
	if _, safe := p.given("sandbox help version"); safe && !p.unsure {
		return
	}
	var scripts []Word
	for _, o := range p.options {
		switch o.name {
		case "e", "expression":
			scripts = append(scripts, o.value)
		case "f", "file":
			c.Unsure = true
		}
	}
	if len(scripts) == 0 && len(p.operands) > 0 {
		scripts = p.operands[:1]
	}
	for _, s := range scripts {
		c.Unsure = c.Unsure || !s.Known || !plainSed().MatchString(s.Text)
	}
}
