package master

import (
	"slices"
	"strings"

	"fika"
	"fika/internal/text/spelling"
	"fika/internal/workflow"
)

// Verb is what a line asks for.
type Verb string

// The verbs.
const (
	Nothing Verb = ""        // an empty line
	Plain   Verb = "plain"   // text for the default agent, or to be worked here
	Ask     Verb = "ask"     // continue an agent's conversation
	Task    Verb = "task"    // a conversation of its own
	Reset   Verb = "reset"   // begin an agent's conversation afresh
	Team    Verb = "team"    // for several agents
	Command Verb = "command" // a /command
)

// Line is a parsed line.
type Line struct {
	Verb  Verb
	Agent string        // as typed; checked later
	Team  workflow.Line // for several agents
	Text  string        // the prompt
	Words []string      // of a command, without the slash
}

// verbs are the words that may stand between two colons.
var verbs = map[string]Verb{"task": Task, "ask": Ask, "reset": Reset}

// ParseLine parses a line: @agent:task: prompt, @agent:ask: prompt, @agent: prompt (an
// ask), @a, @b: prompt, @a -> @b: prompt and @a, @b --combine @c: prompt (a team),
// @agent:reset, /command, or plain text. "//" begins plain text with a slash. Error kind:
// Invalid.
func ParseLine(s string) (Line, error) {
	text := strings.TrimSpace(s)
	switch {
	case text == "":
		return Line{}, nil
	case strings.HasPrefix(text, "//"):
		return Line{Verb: Plain, Text: text[1:]}, nil
	case text[0] == '/':
		words := strings.Fields(text[1:])
		if len(words) == 0 {
			return Line{}, fika.Errorf(fika.Invalid, "", "/help lists the commands")
		}
		return Line{Verb: Command, Words: words}, nil
	case text[0] == '@':
		return parseRoute(text[1:])
	}
	return Line{Verb: Plain, Text: text}, nil
}

func parseRoute(s string) (Line, error) {
	if namesSeveral(s) {
		return parseTeam("@" + s)
	}
	if names := namesWithoutComma(s); len(names) > 1 {
		return Line{}, fika.Errorf(fika.Invalid, "", "a comma goes between agents: write \"%s: …\"", strings.Join(names, ", "))
	}
	end := strings.IndexAny(s, ": \t\n")
	if end < 0 {
		end = len(s)
	}
	l := Line{Verb: Ask, Agent: s[:end]}
	if l.Agent == "" {
		return Line{}, fika.Errorf(fika.Invalid, "", "which agent? write @name: and the prompt")
	}
	rest := s[end:]
	if after, ok := strings.CutPrefix(rest, ":"); ok {
		rest = after
		word := rest
		if i := strings.IndexAny(rest, ": \t\n"); i >= 0 {
			word = rest[:i]
		}
		if v, ok := verbs[strings.ToLower(word)]; ok {
			l.Verb, rest = v, strings.TrimPrefix(rest[len(word):], ":")
		} else if near := spelling.Nearest(word, []string{"task", "ask", "reset"}); near != "" {
			return Line{}, fika.Errorf(fika.Invalid, "", "no verb %q; did you mean @%s:%s:? known are @%s:task: @%s:ask: and @%s:reset (to send it as text, put a space after the first colon)",
				word, l.Agent, near, l.Agent, l.Agent, l.Agent)
		}
	}
	l.Text = strings.TrimSpace(rest)
	switch {
	case l.Verb == Reset && l.Text != "":
		return Line{}, fika.Errorf(fika.Invalid, "", "@%s:reset takes nothing; ask on a line of its own", l.Agent)
	case l.Verb != Reset && l.Text == "":
		return Line{}, fika.Errorf(fika.Invalid, "", "the prompt is missing: @%s: PROMPT", l.Agent)
	}
	return l, nil
}

// parseTeam parses a line for several agents. A mistake before the prompt is an error
// that says how to write it; the line never becomes text for the first agent.
func parseTeam(s string) (Line, error) {
	l, err := workflow.ParseLine(s, nil)
	if err != nil {
		return Line{}, err
	}
	if l.IsSingle() { // @a:task → @b: the arrow is where no name can follow
		return Line{}, fika.Errorf(fika.Invalid, "", "a team is named before the first colon: write \"%s -> @b: …\"", l.Address)
	}
	return Line{Verb: Team, Team: l, Text: l.Prompt}, nil
}

// namesWithoutComma returns the @names before the first colon if there is nothing else, as
// in @a @b: prompt; nil otherwise.
func namesWithoutComma(s string) []string {
	head, _, ok := strings.Cut("@"+s, ":")
	names := strings.Fields(head)
	if !ok || slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "@") || n == "@" }) {
		return nil
	}
	return names
}

// namesSeveral reports whether a line is meant for several agents, correctly written or
// not: names with commas or arrows between them before the colon, or an arrow and another
// @name where the prompt would begin.
func namesSeveral(s string) bool {
	end := strings.IndexAny(s, ": \t\n→-=>,")
	if end <= 0 {
		return false
	}
	if head, _, ok := strings.Cut(s, ":"); ok && workflow.NamesTeam("@"+head) { // also @a → b: text
		return true
	}
	rest := strings.TrimSpace(s[end:])
	if verb, after, ok := strings.Cut(strings.TrimPrefix(rest, ":"), " "); ok && strings.HasPrefix(rest, ":") && verbs[strings.ToLower(strings.TrimSuffix(verb, ":"))] != Nothing {
		rest = strings.TrimSpace(after) // @a:task → @b
	}
	for _, arrow := range []string{"→", "-->", "->", "=>", ">", ","} {
		if next, ok := strings.CutPrefix(rest, arrow); ok && strings.HasPrefix(strings.TrimSpace(next), "@") {
			return true
		}
	}
	return false
}
