package mention

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"

	"fika"
)

// Known lists those who can be mentioned.
type Known struct {
	Agents []fika.AgentName
	Human  string // the person's username, in any case; "user" always means the person
	// People are the other participants, in any case.
	People []string
}

// namesMeant returns what each name stands for. An agent's name stands for nobody
// else.
func (k Known) namesMeant() map[string]who {
	names := make(map[string]who, len(k.Agents)+len(k.People)+3)
	for _, p := range k.People {
		names[strings.ToLower(p)] = human
	}
	if k.Human != "" {
		names[strings.ToLower(k.Human)] = human
	}
	for _, a := range k.Agents {
		names[string(a)] = agent
	}
	names["user"], names["all"] = human, everybody
	return names
}

// Unknown is a mentioned name that nobody has, in lower case, with the names of
// agents that are spelled similarly, nearest first.
type Unknown struct {
	Name string
	Near []fika.AgentName
}

// Result lists those who are mentioned, each once, in order of first appearance.
type Result struct {
	Agents  []fika.AgentName
	Human   bool
	All     bool
	Unknown []Unknown // at most maxUnknown
}

// NoneAddressed reports whether nobody was addressed, known or unknown.
func (r Result) NoneAddressed() bool {
	return len(r.Agents) == 0 && !r.Human && !r.All && len(r.Unknown) == 0
}

// maxUnknown bounds the number of unknown names reported: more than that is noise
// rather than a typo.
const maxUnknown = 8

// Parser finds mentions. Make one with [New] and keep it.
type Parser struct {
	blocks parser.Parser // Markdown
	inner  parser.Parser // Markdown inside an HTML block, where tags are inline
}

// New returns a new Parser.
func New() *Parser {
	return &Parser{blocks: newMarkdown(true), inner: newMarkdown(false)}
}

func newMarkdown(htmlBlocks bool) parser.Parser {
	blocks := parser.DefaultBlockParsers()
	if !htmlBlocks {
		html := parser.NewHTMLBlockParser()
		blocks = slices.DeleteFunc(blocks, func(v util.PrioritizedValue) bool { return v.Value == html })
	}
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
}

// Parse finds the mentions in one text with a Parser of its own; a caller with many
// texts should keep a [Parser].
func Parse(text string, known Known) Result { return New().Parse(text, known) }

// Parse finds the mentions in text.
func (p *Parser) Parse(text string, known Known) Result {
	if !strings.Contains(text, "@") {
		return Result{}
	}
	runs := findCandidates(p.proseOf(limitNesting([]byte(text))))
	if len(runs) == 0 {
		return Result{}
	}
	return resolveNames(runs, known)
}

// resolveNames turns the text after each @ into names.
func resolveNames(runs []string, known Known) Result {
	names := known.namesMeant()
	var r Result
	seen := make(map[string]bool, len(runs))
	for _, run := range runs {
		name, kind := longestName(run, names)
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		switch kind {
		case agent:
			r.Agents = append(r.Agents, fika.AgentName(name))
		case human:
			r.Human = true
		case everybody:
			r.All = true
		case nobody:
			if len(r.Unknown) < maxUnknown {
				r.Unknown = append(r.Unknown, Unknown{Name: name, Near: nearNames(name, known.Agents)})
			}
		}
	}
	return r
}

// who is what a name stands for.
type who int

const (
	nobody who = iota
	agent
	human
	everybody
)

// longestName returns the longest part of run that is a name and that ends at the end
// of run or before '-' or '_', and what it stands for; if there is none, it returns
// run as an unknown name. A run with letters that agents' names cannot have is first
// looked up as a person's name, and otherwise cut at the first such letter, as in
// "@aryaさん"; the result is "" if run begins with one.
func longestName(run string, names map[string]who) (string, who) {
	if i := strings.IndexFunc(run, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
		for end := len(run); end > i; end = strings.LastIndexAny(run[:end], "-_") {
			if names[run[:end]] == human {
				return run[:end], human
			}
		}
		run = run[:i]
	}
	for end := len(run); end > 0; end = strings.LastIndexAny(run[:end], "-_") {
		if kind := names[run[:end]]; kind != nobody {
			return run[:end], kind
		}
	}
	return strings.TrimRight(run, "-_"), nobody
}
