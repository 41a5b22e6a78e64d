package route

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed vocabulary.txt
var vocabularyText string

// shipped returns the vocabulary that comes with fika.
var shipped = sync.OnceValue(func() *vocabulary { return readVocabulary(vocabularyText) })

// field is a kind of work that is recognised by words.
type field struct {
	title string   // as a person would call it
	tools []string // the work needs one of them; empty: it needs no tool
}

// vocabulary says which words point to which work.
type vocabulary struct {
	fields map[string]field  // by term
	hints  map[string][]hint // by stem, in the order of the file
}

// hint is what a word says about a field of work.
type hint struct {
	field string // its term
	clear float64
}

// How clearly a word points to a field of work.
const (
	tells = 1.0
	hints = 0.4
)

// fieldMark is the prefix of the term of a field of work; no word begins with it.
const fieldMark = "#"

// readVocabulary parses paragraphs as vocabulary.txt describes them.
func readVocabulary(text string) *vocabulary {
	v := &vocabulary{fields: map[string]field{}, hints: map[string][]hint{}}
	for _, paragraph := range strings.Split(text, "\n\n") {
		term := ""
		for _, line := range strings.Split(paragraph, "\n") {
			switch {
			case line == "" || line[0] == '#':
			case term == "":
				name, rest, _ := strings.Cut(line, ":")
				title, tools, _ := strings.Cut(rest, ";")
				term = fieldMark + name
				v.fields[term] = field{title: strings.TrimSpace(title), tools: strings.Fields(tools)}
			case line[0] == '!':
				v.add(term, line[1:], tells)
			default:
				v.add(term, line, hints)
			}
		}
	}
	return v
}

// add adds the words of a line to a field. If a word appears twice in a field, the first
// counts.
func (v *vocabulary) add(term, line string, clear float64) {
	for _, w := range strings.Fields(line) {
		var stems []string
		for _, part := range strings.Split(w, "_") {
			stems = append(stems, stem(part))
		}
		key := strings.Join(stems, "_")
		known := v.hints[key]
		if n := len(known); n == 0 || known[n-1].field != term {
			v.hints[key] = append(known, hint{term, clear})
		}
	}
}
