package workflow

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"fika"
	"fika/internal/settings/toml"
)

// maxTeam is how many agents one address may name.
const maxTeam = 50

// Address is a team in its working order: the agents of one stage work at the same
// time, and each stage gets the outputs of the one before.
type Address struct {
	Stages [][]fika.AgentName
}

// IsSingle reports whether the address is a single agent, which needs no workflow.
func (a Address) IsSingle() bool { return len(a.Stages) == 1 && len(a.Stages[0]) == 1 }

// String returns the address as it should be typed: @a, @b -> @c.
func (a Address) String() string {
	stages := make([]string, len(a.Stages))
	for i, stage := range a.Stages {
		names := make([]string, len(stage))
		for j, n := range stage {
			names[j] = "@" + string(n)
		}
		stages[i] = strings.Join(names, ", ")
	}
	return strings.Join(stages, " -> ")
}

// Agents returns all agents that work in the address, and the one that combines their
// answers; combine may be empty.
func (a Address) Agents(combine fika.AgentName) []fika.AgentName {
	all := slices.Concat(a.Stages...)
	if combine != "" {
		all = append(all, combine)
	}
	return all
}

// ParseAddress reads a team as written in an argument: "a,b", "a -> b" or "a → b",
// with or without an @ before each name. For a name that is not in known, the error
// suggests the nearest; a nil known accepts any name. It fails with Invalid or
// NotFound.
func ParseAddress(text string, known []string) (Address, error) {
	return parseTeam(text, known, false, func(a Address) string { return fmt.Sprintf("%q", strings.ReplaceAll(a.String(), "@", "")) })
}

// teamToken is a name, or the text between two names.
type teamToken struct {
	text string
	name bool
	at   bool // the name is preceded by an @
}

// teamTokens splits the text before a colon into names and separators.
func teamTokens(text string) []teamToken {
	var out []teamToken
	runes := []rune(text)
	isName := func(i int) bool {
		r := runes[i]
		if r == '-' {
			return i+1 == len(runes) || runes[i+1] != '>' && runes[i+1] != '-'
		}
		return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	for i := 0; i < len(runes); {
		begin := i
		switch {
		case unicode.IsSpace(runes[i]):
			i++
			continue
		case runes[i] == '@' || isName(i) && runes[i] != '-':
			t := teamToken{name: true, at: runes[i] == '@'}
			if t.at {
				i, begin = i+1, i+1
			}
			for i < len(runes) && isName(i) {
				i++
			}
			t.text = string(runes[begin:i])
			out = append(out, t)
			continue
		}
		for i < len(runes) && !unicode.IsSpace(runes[i]) && runes[i] != '@' && (runes[i] == '-' || !isName(i)) {
			i++
		}
		out = append(out, teamToken{text: string(runes[begin:i])})
	}
	return out
}

// separator reads the text between two names. It reports whether that is an arrow,
// and whether it is written as it should be.
func separator(text string) (arrow, right bool) {
	switch text {
	case ",":
		return false, true
	case "->", "→":
		return true, true
	}
	return strings.ContainsAny(text, ">→⇒➜⟶➔»"), false
}

// parseTeam reads names and separators. In a line, each name needs an @. right
// returns an address as it should have been typed.
func parseTeam(text string, known []string, line bool, right func(Address) string) (Address, error) {
	var (
		a       Address
		wrong   []string // mistakes of spelling
		between = true   // a separator came last
		names   []string
	)
	next := true // the next name begins a stage
	for _, t := range teamTokens(text) {
		if !t.name {
			arrow, ok := separator(t.text)
			switch {
			case between:
				wrong = append(wrong, fmt.Sprintf("a name is missing before %s", toml.Quote(t.text)))
			case !ok:
				wrong = append(wrong, fmt.Sprintf("%s is not understood", toml.Quote(t.text)))
			}
			next, between = next || arrow, true
			continue
		}
		switch {
		case t.text == "":
			wrong = append(wrong, "a name is missing behind an @")
			continue
		case !between:
			wrong = append(wrong, fmt.Sprintf("between %s and %s there is neither a comma (at the same time) nor an arrow (one after the other)", names[len(names)-1], t.text))
		case line && !t.at:
			wrong = append(wrong, fmt.Sprintf("%s needs an @", t.text))
		}
		names = append(names, t.text)
		if next {
			a.Stages = append(a.Stages, nil)
		}
		last := len(a.Stages) - 1
		a.Stages[last] = append(a.Stages[last], fika.AgentName(strings.ToLower(t.text)))
		next, between = false, false
	}
	if len(names) > 0 && between {
		wrong = append(wrong, "a name is missing at the end")
	}
	return a, a.check(wrong, names, known, right)
}

// check returns the first thing that is wrong with an address: its length, its spelling,
// an invalid name, an agent that does not exist, or one named twice in a stage.
func (a Address) check(wrong, names, known []string, right func(Address) string) error {
	switch {
	case len(names) == 0:
		return fika.Errorf(fika.Invalid, "", "no agent is named: write a name, \"a, b\" for several at the same time, or \"a -> b\" for one after the other")
	case len(names) > maxTeam:
		return fika.Errorf(fika.Invalid, "", "%d agents are named, more than %d", len(names), maxTeam)
	case len(wrong) > 0:
		return fika.Errorf(fika.Invalid, "", "%s: write %s", strings.Join(wrong, ", "), right(a))
	}
	for _, n := range names {
		name, err := fika.ParseAgentName(n)
		if err != nil {
			return err
		}
		if known != nil && !slices.Contains(known, string(name)) {
			return fika.Errorf(fika.NotFound, "", "agent %s not found%s", toml.Quote(n), orKnown(n, known))
		}
	}
	for _, stage := range a.Stages {
		seen := map[fika.AgentName]bool{}
		for _, n := range stage {
			if seen[n] {
				return fika.Errorf(fika.Invalid, "", "@%s is named twice: once is enough", n)
			}
			seen[n] = true
		}
	}
	return nil
}

// Definition returns the workflow of an address. Its only input is the prompt, which
// is text and not a template. If combine is not empty, that agent makes one answer of
// the outputs of the last stage.
func (a Address) Definition(combine fika.AgentName) *Definition {
	d := &Definition{
		Description: a.String(),
		Inputs:      []Input{{Name: "prompt", Type: TypeText}},
	}
	var before []string
	for i, stage := range a.Stages {
		var ids []string
		for _, agent := range stage {
			s := Step{ID: d.freeID(string(agent)), Agent: string(agent), Needs: before, Prompt: "{{.inputs.prompt}}"}
			if i > 0 {
				s.Prompt += handedOn(d, before)
			}
			if len(before) > 1 {
				s.Join = JoinAll
			}
			d.Steps = append(d.Steps, s)
			ids = append(ids, s.ID)
		}
		before = ids
	}
	if combine != "" {
		s := Step{ID: d.freeID(string(combine)), Agent: string(combine), Needs: before, Prompt: combination(d, before)}
		if len(before) > 1 {
			s.Join = JoinEnded
		}
		d.Steps = append(d.Steps, s)
	}
	d.compile() // texts made just now are valid
	return d
}

// freeID makes a step id from an agent's name that no other step has.
func (d *Definition) freeID(agent string) string {
	id := strings.ReplaceAll(agent, "-", "_")
	if id[0] < 'a' || id[0] > 'z' {
		id = "a_" + id
	}
	for n, base := 2, id; d.Step(id) != nil; n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	return id
}

// handedOn returns the text with which a stage is told about the outputs of the one
// before.
func handedOn(d *Definition, before []string) string {
	var b strings.Builder
	b.WriteString("\n\nThis is what came before you; build on it.")
	for _, id := range before {
		fmt.Fprintf(&b, "\n\n@%s:\n{{quote .steps.%s.output}}", d.Step(id).Agent, id)
	}
	return b.String()
}

// combination returns the prompt that asks for one answer made from several.
func combination(d *Definition, before []string) string {
	var b strings.Builder
	b.WriteString("Several agents were asked the following. Make one answer of theirs: say what they agree on, decide where they differ and say why, and name whom each part is from.\n\nThe question:\n{{quote .inputs.prompt}}")
	for _, id := range before {
		fmt.Fprintf(&b, "\n\n@%s{{if eq .steps.%s.state \"done\"}}:\n{{quote .steps.%s.output}}{{else}} gave no answer ({{.steps.%s.error}}).{{end}}", d.Step(id).Agent, id, id, id)
	}
	return b.String()
}
