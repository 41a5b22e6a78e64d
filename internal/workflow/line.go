package workflow

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"fika"
	"fika/internal/settings/toml"
	"fika/internal/text/spelling"
)

// Line is a parsed line that a person typed for one or more agents.
type Line struct {
	Address
	Combine fika.AgentName // combines all answers into one; empty: nobody does
	Verb    string         // the word between two colons: task, ask, reset; mostly empty
	Prompt  string
}

// IsSingle reports whether the line is for a single agent, which needs no workflow.
func (l Line) IsSingle() bool { return l.Address.IsSingle() && l.Combine == "" }

// AddressText returns the address of the line as it should be typed: @a, @b --combine
// @c.
func (l Line) AddressText() string {
	if l.Combine == "" {
		return l.Address.String()
	}
	return l.Address.String() + combineOption + "@" + string(l.Combine)
}

// Title returns the title of a run of the line, as shown in lists.
func (l Line) Title() string { return l.AddressText() + ": " + brief(l.Prompt, maxTitle) }

// Agents returns all agents that work on the line.
func (l Line) Agents() []fika.AgentName { return l.Address.Agents(l.Combine) }

// Definition returns the workflow of the line.
func (l Line) Definition() *Definition { return l.Address.Definition(l.Combine) }

// combineOption introduces the agent that makes one answer of all.
const combineOption = " --combine "

// ParseLine reads a line that begins with an @: the team before the first colon,
// perhaps a verb and a second colon, and the prompt. Any mistake before the prompt is
// an error that shows the right spelling; it is never taken as text. ParseLine fails
// with Invalid or NotFound.
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
	head, option := cutOption(head)
	var err error
	l.Address, err = parseTeam(head, known, true, func(a Address) string {
		return fmt.Sprintf("%q", Line{Address: a, Combine: option.guess()}.AddressText()+": …")
	})
	if err == nil {
		l.Combine, err = option.combine(l.Address, known)
	}
	if err != nil {
		return Line{}, err
	}
	team := l.AddressText()
	if !ok {
		return Line{}, fika.Errorf(fika.Invalid, "", "there is no colon behind %s: write \"%s: \" and the prompt", team, team)
	}
	if err := l.takeVerb(rest); err != nil {
		return Line{}, err
	}
	switch {
	case l.Verb == "reset" && !l.IsSingle():
		return Line{}, fika.Errorf(fika.Invalid, "", "reset is for one agent: write %s", resets(l.Address))
	case l.Verb == "reset" && l.Prompt != "":
		return Line{}, fika.Errorf(fika.Invalid, "", "%s:reset takes nothing; ask on a line of its own", team)
	case l.Verb != "reset" && l.Prompt == "":
		return Line{}, fika.Errorf(fika.Invalid, "", "the prompt is missing: %s: PROMPT", team)
	}
	return l, nil
}

// firstLine splits a text without a colon where a prompt may begin.
func firstLine(text string) (string, string) {
	head, rest, _ := strings.Cut(text, "\n")
	return head, rest
}

// takeVerb takes a verb off the text after the first colon: a word that follows the
// colon at once, mostly with a colon of its own. Text follows a space.
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
		return fika.Errorf(fika.Invalid, "", "verb %s not found; did you mean \"%s:%s: …\"? To send it as text, put a space behind the first colon", toml.Quote(word), l.Address, near)
	case colon:
		return fika.Errorf(fika.Invalid, "", "verb %s not found: write \"%s: %s\" with a space to send it as text; verbs are task, ask and reset", toml.Quote(word), l.Address, shorten(rest))
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

// NamesTeam reports whether the text before a colon names several agents, well
// written or not: names with commas or arrows between them and no other words; or one
// name, and another that combines its answer.
func NamesTeam(head string) bool {
	head, option := cutOption(head)
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
	return names > 1 || names == 1 && option.isCombine()
}

// BeginsForTeam reports whether the first line of a text begins with a correctly
// written team, @a, @b: or @a -> @b:. A text that only looks similar is plain text.
func BeginsForTeam(text string) bool {
	first, _ := firstLine(strings.TrimSpace(text))
	head, _, ok := strings.Cut(first, ":")
	if !ok || !NamesTeam(head) {
		return false
	}
	head, option := cutOption(head)
	if option.word != "" && !option.isCombine() {
		return false
	}
	names, between := 0, true
	for _, t := range teamTokens(head) {
		if _, right := separator(t.text); !t.name && (!right || between) {
			return false
		}
		if t.name && !t.at {
			return false
		}
		between = !t.name
		if t.name {
			names++
		}
	}
	return !between && names > 0
}

// lineOption is what follows a team after two dashes.
type lineOption struct {
	word string // without the dashes; empty: there is no option
	rest string
}

// cutOption cuts an option off the text before a colon.
func cutOption(head string) (string, lineOption) {
	for at := 0; ; {
		i := strings.Index(head[at:], "--")
		if i < 0 {
			return head, lineOption{}
		}
		i += at
		after := head[i+2:]
		if i > 0 && unicode.IsSpace(rune(head[i-1])) && after != "" && (after[0]|0x20 >= 'a' && after[0]|0x20 <= 'z') {
			word := after
			if end := strings.IndexAny(after, " \t=@"); end >= 0 {
				word = after[:end]
			}
			return head[:i], lineOption{strings.ToLower(word), strings.Trim(after[len(word):], " \t=")}
		}
		at = i + 2
	}
}

func (o lineOption) isCombine() bool {
	return o.word == "combine" || o.word != "" && spelling.Nearest(o.word, []string{"combine"}) != ""
}

// guess returns the agent that is probably meant; for error messages only.
func (o lineOption) guess() fika.AgentName {
	if !o.isCombine() {
		return ""
	}
	name, err := fika.ParseAgentName(strings.TrimPrefix(o.rest, "@"))
	if err != nil {
		return "c"
	}
	return name
}

// combine returns the agent that makes one answer of a team's; "" if nobody does.
func (o lineOption) combine(a Address, known []string) (fika.AgentName, error) {
	if o.word == "" {
		return "", nil
	}
	right := toml.Quote(Line{Address: a, Combine: o.guess()}.AddressText() + ": …")
	if o.word != "combine" {
		return "", fika.Errorf(fika.Invalid, "", "option %s not found: write %s", toml.Quote("--"+o.word), right)
	}
	name, err := fika.ParseAgentName(strings.TrimPrefix(o.rest, "@"))
	switch {
	case err != nil:
		return "", fika.Errorf(fika.Invalid, "", "--combine takes one agent, which makes one answer of all: write %s", right)
	case known != nil && !slices.Contains(known, string(name)):
		return "", fika.Errorf(fika.NotFound, "", "agent %s not found%s", toml.Quote(string(name)), orKnown(string(name), known))
	}
	return name, nil
}
