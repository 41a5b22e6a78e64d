package workflow

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"fika"
	"fika/internal/spelling"
	"fika/internal/toml"
)

// maxTeam is how many agents one address may name.
const maxTeam = 50

// Address is a team in the order in which it works: the agents of one stage
// work at the same time, and each stage gets what the one before gave.
type Address struct {
	Stages [][]fika.AgentName
}

// Line is what a person typed for one or more agents, taken apart.
type Line struct {
	Address
	Verb   string // what stood between two colons: task, ask, reset; mostly empty
	Prompt string
}

// One reports whether the address is a single agent, which needs no workflow.
func (a Address) One() bool { return len(a.Stages) == 1 && len(a.Stages[0]) == 1 }

// String writes the address as it should be typed: @a, @b -> @c.
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

// Agents are all who work in it, and who makes one answer of theirs; empty:
// nobody does.
func (a Address) Agents(combine fika.AgentName) []fika.AgentName {
	all := slices.Concat(a.Stages...)
	if combine != "" {
		all = append(all, combine)
	}
	return all
}

// Title is what lists show of a run of the team, in one line.
func (a Address) Title(prompt string) string {
	return a.String() + ": " + strings.Join(strings.Fields(prompt), " ")
}

// ParseAddress reads a team as it stands in an argument: "a,b", "a -> b" or
// "a → b", with or without an @ before each name. Of known agents it tells the
// nearest when there is no such; nil knows all. Error kinds: Invalid, NotFound.
func ParseAddress(text string, known []string) (Address, error) {
	return parseTeam(text, known, false, func(a Address) string { return fmt.Sprintf("%q", strings.ReplaceAll(a.String(), "@", "")) })
}

// ParseLine reads a line that begins with an @: the team before the first
// colon, perhaps a verb and a second colon, and the prompt. Whatever is wrong
// before the prompt is an error that gives the right spelling, never text.
// Error kinds: Invalid, NotFound.
func ParseLine(line string, known []string) (Line, error) {
	line = strings.TrimSpace(line)
	head, rest, ok := strings.Cut(line, ":")
	if !strings.HasPrefix(line, "@") {
		return Line{}, fika.Errorf(fika.Invalid, "", "a line for agents begins with @: write @name: and the prompt")
	}
	if !ok {
		head, rest = firstLine(line)
	}
	l := Line{Prompt: strings.TrimSpace(rest)}
	team, err := parseTeam(head, known, true, func(a Address) string { return fmt.Sprintf("%q", a.String()+": …") })
	if err != nil {
		return Line{}, err
	}
	l.Address = team
	if !ok {
		return Line{}, fika.Errorf(fika.Invalid, "", "there is no colon behind %s: write \"%s: \" and the prompt", team, team)
	}
	if err := l.takeVerb(rest); err != nil {
		return Line{}, err
	}
	switch {
	case l.Verb == "reset" && !l.One():
		return Line{}, fika.Errorf(fika.Invalid, "", "reset is for one agent: write %s", resets(l.Address))
	case l.Verb == "reset" && l.Prompt != "":
		return Line{}, fika.Errorf(fika.Invalid, "", "%s:reset takes nothing; ask on a line of its own", team)
	case l.Verb != "reset" && l.Prompt == "":
		return Line{}, fika.Errorf(fika.Invalid, "", "what shall %s do? write the prompt after the colon", team)
	}
	return l, nil
}

// firstLine cuts a text without a colon where a prompt may begin.
func firstLine(text string) (string, string) {
	head, rest, _ := strings.Cut(text, "\n")
	return head, rest
}

// takeVerb takes a verb off the text behind the first colon: a word that
// follows it at once, mostly with a colon of its own. Text goes behind a space.
func (l *Line) takeVerb(rest string) error {
	end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(rest)
	}
	word, after := rest[:end], rest[end:]
	colon := strings.HasPrefix(after, ":")
	if word == "" || !colon && after != "" && strings.TrimSpace(after[:1]) != "" {
		return nil
	}
	known := []string{"task", "ask", "reset"}
	if verb := strings.ToLower(word); slices.Contains(known, verb) {
		l.Verb, l.Prompt = verb, strings.TrimSpace(strings.TrimPrefix(after, ":"))
		return nil
	}
	switch near := spelling.Nearest(word, known); {
	case near != "":
		return fika.Errorf(fika.Invalid, "", "there is no verb %s; did you mean \"%s:%s: …\"? To send it as text, put a space behind the first colon", toml.Quote(word), l.Address, near)
	case colon:
		return fika.Errorf(fika.Invalid, "", "there is no verb %s: write \"%s: %s\" with a space to send it as text; verbs are task, ask and reset", toml.Quote(word), l.Address, shorten(rest))
	}
	return nil
}

func resets(a Address) string {
	var all []string
	for _, stage := range a.Stages {
		for _, n := range stage {
			all = append(all, "@"+string(n)+":reset")
		}
	}
	return strings.Join(all, " and ") + ", each on a line of its own"
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 30 {
		return string(r[:30]) + "…"
	}
	return s
}

// teamToken is a name, or whatever stands between two names.
type teamToken struct {
	text string
	name bool
	at   bool // the name has an @
}

// teamTokens cuts the text before a colon into names and what separates them.
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

// separators are what stands between names: as it should be, and as it is often
// written.
func separator(text string) (arrow, right bool) {
	switch text {
	case ",":
		return false, true
	case "->", "→":
		return true, true
	}
	return strings.ContainsAny(text, ">→⇒➜⟶➔»"), false
}

// NamesTeam reports whether a text in front of a colon names several agents,
// well written or not: names with commas or arrows between them, and no other
// words.
func NamesTeam(head string) bool {
	names, between := 0, true
	for _, t := range teamTokens(head) {
		if t.name {
			if !between {
				return false
			}
			names, between = names+1, false
			continue
		}
		arrow, right := separator(t.text)
		if !arrow && !right {
			return false
		}
		between = true
	}
	return names > 1
}

// parseTeam reads names and separators. In a line each name has an @. right
// writes an address as it should have been typed.
func parseTeam(text string, known []string, line bool, right func(Address) string) (Address, error) {
	var (
		a       Address
		wrong   []string // of the spelling
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

// check gives the first thing that is wrong with an address: its spelling, a
// name that is none, somebody who is not there, somebody named twice.
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
			return fika.Errorf(fika.NotFound, "", "there is no agent %s%s", toml.Quote(n), orKnown(n, known))
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

// Definition makes the workflow of an address: its only input is the prompt,
// which is text and no template. With combine (empty: nobody) that agent makes
// one answer of what the last stage gave.
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
	d.compile() // of texts that were just made
	return d
}

// freeID makes an id of an agent's name, which no other step has.
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

// handedOn is what a stage gets to know of the one before.
func handedOn(d *Definition, before []string) string {
	var b strings.Builder
	b.WriteString("\n\nThis is what came before you; build on it.")
	for _, id := range before {
		fmt.Fprintf(&b, "\n\n@%s:\n{{quote .steps.%s.output}}", d.Step(id).Agent, id)
	}
	return b.String()
}

// combination asks for one answer made of several.
func combination(d *Definition, before []string) string {
	var b strings.Builder
	b.WriteString("Several agents were asked the following. Make one answer of theirs: say what they agree on, decide where they differ and say why, and name whom each part is from.\n\nThe question:\n{{quote .inputs.prompt}}")
	for _, id := range before {
		fmt.Fprintf(&b, "\n\n@%s{{if eq .steps.%s.state \"done\"}}:\n{{quote .steps.%s.output}}{{else}} gave no answer ({{.steps.%s.error}}).{{end}}", d.Step(id).Agent, id, id, id)
	}
	return b.String()
}
