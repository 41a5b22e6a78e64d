package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"fika"
	"fika/internal/text/safetext"
)

// SearchName is the name of the tool that finds deferred tools.
const SearchName = "tool_search"

// SkillName is the name of the tool that loads a skill; its only argument is called name.
const SkillName = "skill"

const (
	mostFound     = 8    // tools that one search finds
	foundBytes    = 300  // of a found tool's description
	mostQuery     = 1000 // bytes
	mostGroups    = 600  // bytes of the names of the groups
	mostNames     = 4000 // bytes of the names that a search without a match lists
	foundHeading  = "Found; these can be called from now on:"
	foundNameTerm = ": "
)

// Deferred returns t as a tool that the model is not shown until a search has found it.
func Deferred(t Tool) Tool { return deferred{t} }

type deferred struct{ Tool }

func (t deferred) Unwrap() Tool { return t.Tool }

func (t deferred) Spec() Spec {
	s := t.Tool.Spec()
	s.Deferred = true
	return s
}

// Group is a number of deferred tools from one source.
type Group struct {
	Name  string
	Specs []Spec
}

// NewSearch returns the tool that finds the deferred tools in groups by their names, their
// descriptions and their parameters. It runs none of them.
func NewSearch(groups []Group) Tool {
	s := newIndex(groups)
	return Func[struct{ Query string }]{
		About: Spec{
			Name: SearchName, Description: "Find further tools by what they do or are called. What is found can be called from then on. There are tools of " + s.sources() + ".",
			Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`),
			Always:     true, Effect: fika.Pure,
		},
		Do: func(_ context.Context, _ Call, args struct{ Query string }) (Result, error) {
			return s.search(args.Query), nil
		},
	}
}

// FoundNames returns the names of the tools in the result of a search, in its order.
func FoundNames(result string) []string {
	heading, list, _ := strings.Cut(result, "\n")
	if heading != foundHeading {
		return nil
	}
	var names []string
	for line := range strings.Lines(list) {
		if name, _, ok := strings.Cut(strings.TrimSuffix(line, "\n"), foundNameTerm); ok && validName(name) {
			names = append(names, name)
		}
	}
	return names
}

// index holds the words of tools.
type index struct {
	groups []Group
	tools  []indexed
	having map[string]int // in how many tools a word is
}

type indexed struct {
	name, about string
	named       []string // words of the name
	words       map[string]bool
}

func newIndex(groups []Group) *index {
	s := &index{groups: groups, having: map[string]int{}}
	for _, g := range groups {
		for _, spec := range g.Specs {
			t := indexed{name: spec.Name, about: clipBytes(safetext.Line(spec.Description), foundBytes), named: wordsOf(spec.Name), words: map[string]bool{}}
			var schema struct {
				Properties map[string]struct{ Description string }
			}
			_ = json.Unmarshal(spec.Parameters, &schema) // a tool without known parameters is found by the rest
			texts := []string{spec.Name, spec.Description}
			for name, p := range schema.Properties {
				texts = append(texts, name, p.Description)
			}
			for _, w := range wordsOf(strings.Join(texts, " ")) {
				if !t.words[w] {
					t.words[w] = true
					s.having[w]++
				}
			}
			s.tools = append(s.tools, t)
		}
	}
	return s
}

// wordsOf returns the words of a text in lower case; a change from lower to upper case
// begins a new one.
func wordsOf(text string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		before = r
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// sources names the groups, with how many tools each has.
func (s *index) sources() string {
	var out []string
	size := 0
	for i, g := range s.groups {
		one := fmt.Sprintf("%s (%d)", g.Name, len(g.Specs))
		if size += len(one) + 2; size > mostGroups {
			out = append(out, fmt.Sprintf("%d more", len(s.groups)-i))
			break
		}
		out = append(out, one)
	}
	return strings.Join(out, ", ")
}

func (s *index) search(query string) Result {
	if strings.TrimSpace(query) == "" || len(query) > mostQuery {
		return Errorf(fmt.Sprintf("the query has to have some words, in at most %d bytes", mostQuery))
	}
	type scored struct {
		indexed
		score float64
	}
	var list []scored
	for _, t := range s.tools {
		if score := s.score(t, query); score > 0 {
			list = append(list, scored{t, score})
		}
	}
	if len(list) == 0 {
		return Result{Text: s.noMatch()}
	}
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	text := foundHeading
	for _, t := range list[:min(len(list), mostFound)] {
		text += "\n" + t.name + foundNameTerm + t.about
	}
	return Result{Text: text}
}

// score says how well a tool fits a query: rare words count more than frequent ones, and
// those of its name more than others. A tool whose whole name is in the query comes first.
func (s *index) score(t indexed, query string) float64 {
	score := 0.0
	for _, field := range strings.FieldsFunc(query, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if field == t.name {
			score += 1000
		}
	}
	for _, w := range wordsOf(query) {
		weight := math.Log(1 + float64(len(s.tools))/float64(max(1, s.having[w])))
		switch {
		case slices.Contains(t.named, w):
			score += 3 * weight
		case len(w) > 3 && slices.ContainsFunc(t.named, func(n string) bool { return strings.HasPrefix(n, w) || len(n) > 3 && strings.HasPrefix(w, n) }):
			score += 2 * weight
		case t.words[w]:
			score += weight
		}
	}
	return score
}

func (s *index) noMatch() string {
	text := "No tool fits. There are: "
	for i, t := range s.tools {
		if i > 0 {
			text += ", "
		}
		if len(text) > mostNames {
			return text + fmt.Sprintf("and %d more", len(s.tools)-i)
		}
		text += t.name
	}
	return text
}
