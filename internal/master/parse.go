package master

import (
	"strings"

	"fika"
)

// Verb is what a line asks for.
type Verb string

// The verbs.
const (
	Nothing Verb = ""        // an empty line
	Plain   Verb = "plain"   // text for the default agent, or for here
	Ask     Verb = "ask"     // continue an agent's conversation
	Task    Verb = "task"    // a conversation of its own
	Reset   Verb = "reset"   // begin an agent's conversation afresh
	Command Verb = "command" // a /command
)

// Line is what a person typed, understood.
type Line struct {
	Verb  Verb
	Agent string   // as typed, checked later
	Text  string   // the prompt
	Words []string // of a command, without the slash
}

// verbs are what may stand between two colons.
var verbs = map[string]Verb{"task": Task, "ask": Ask, "reset": Reset}

// Parse understands a line: @agent:task: prompt, @agent:ask: prompt,
// @agent: prompt (an ask), @agent:reset, /command, or plain text. "//" begins
// plain text with a slash. Error kind: Invalid.
func Parse(s string) (Line, error) {
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
		} else if strings.HasPrefix(rest[len(word):], ":") && looksLikeVerb(word) {
			return Line{}, fika.Errorf(fika.Invalid, "", "@%s:%s: is not known; known are @%s:task: @%s:ask: and @%s:reset", l.Agent, word, l.Agent, l.Agent, l.Agent)
		}
	}
	l.Text = strings.TrimSpace(rest)
	switch {
	case l.Verb == Reset && l.Text != "":
		return Line{}, fika.Errorf(fika.Invalid, "", "@%s:reset takes nothing; ask on a line of its own", l.Agent)
	case l.Verb != Reset && l.Text == "":
		return Line{}, fika.Errorf(fika.Invalid, "", "what shall @%s do? write the prompt after the colon", l.Agent)
	}
	return l, nil
}

// looksLikeVerb tells a misspelt verb from a prompt that begins with a word
// and a colon.
func looksLikeVerb(word string) bool {
	w := strings.ToLower(word)
	if len(w) < 2 || len(w) > 7 {
		return false
	}
	for v := range verbs {
		if w[0] == v[0] && (strings.HasPrefix(v, w) || strings.HasPrefix(w, v) || sameLetters(w, v)) {
			return true
		}
	}
	return false
}

// sameLetters reports whether a is b with letters swapped.
func sameLetters(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	var count [256]int
	for i := range len(a) {
		count[a[i]]++
		count[b[i]]--
	}
	return count == [256]int{}
}
