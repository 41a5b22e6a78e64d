package mention

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"

	"fika"
)

// Known is who can be mentioned.
type Known struct {
	Agents []fika.AgentName
	Human  string // the person's username, in any case; "user" always means the person
	// People are others who take part, in any case.
	People []string
}

// namesMeant is who is meant by which name. An agent's name is nobody else's.
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

// Unknown is a name that was mentioned and that nobody has, in lower case,
// with the names of agents that are spelled nearly so, nearest first.
type Unknown struct {
	Name string
	Near []fika.AgentName
}

// Result is who is mentioned, each once, in order of first appearance.
type Result struct {
	Agents  []fika.AgentName
	Human   bool
	All     bool
	Unknown []Unknown // at most maxUnknown
}

// NoneAddressed reports whether nobody was addressed, known or not.
func (r Result) NoneAddressed() bool {
	return len(r.Agents) == 0 && !r.Human && !r.All && len(r.Unknown) == 0
}

// maxUnknown bounds how many unknown names are told: more is noise, not a typo.
const maxUnknown = 8

// Parser finds mentions. Make one with [New] and keep it.
type Parser struct {
	blocks parser.Parser // Markdown
	inner  parser.Parser // Markdown inside an HTML block: tags are inline there
}

// New makes a Parser.
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

// Parse finds the mentions in one text with a Parser of its own; whoever reads
// many texts keeps a [Parser].
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

// resolveNames turns what stands behind each @ into names.
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

// who says what a name stands for.
type who int

const (
	nobody who = iota
	agent
	human
	everybody
)

// longestName gives the longest part of run that is a name and that ends at the
// run's end or before '-' or '_'; without one, the run as an unknown name. What
// is no person's name with all its letters is looked up to its first letter that
// no agent's name has, as in "@aryaさん"; "" when that is the first one.
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
