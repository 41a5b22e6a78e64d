package question

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"fika"
	"fika/internal/service"
	"fika/internal/term"
)

// ShowCall shows a tool call in full, with hidden characters made visible.
func ShowCall(tool, args string) string {
	var bash struct {
		Command string `json:"command"`
	}
	if tool == "bash" && json.Unmarshal([]byte(args), &bash) == nil && bash.Command != "" {
		return "bash: " + term.Visible(bash.Command)
	}
	return term.Visible(tool + " " + args)
}

// IndentLines indents each line of a text.
func IndentLines(s string) string { return "     " + strings.ReplaceAll(s, "\n", "\n     ") }

// step is the question of a step of a workflow's run.
type step struct {
	Run      string `json:"run"`
	Step     string `json:"step"`
	Question string `json:"question"`
}

// stepOf parses a question that a run asks; ok is false if it is about a tool call.
func stepOf(a service.OpenApproval) (s step, ok bool) {
	return s, a.FlowStep != "" && json.Unmarshal([]byte(a.Args), &s) == nil
}

// AskerText names the asker as lists show it.
func AskerText(a service.OpenApproval) string {
	if s, ok := stepOf(a); ok {
		return fmt.Sprintf("step %s of run %s", term.Visible(s.Step), s.Run)
	}
	return fmt.Sprintf("@%s in %s", a.Agent, a.Conversation)
}

// DetailText returns the content of a question: a call with its folder and the rule,
// and the subject of the question if the call does not show it; or, for a step of a
// run, its question.
func DetailText(a service.OpenApproval) string {
	if s, ok := stepOf(a); ok {
		return IndentLines(term.Visible(orText(s.Question, "may it begin?")))
	}
	call := ShowCall(a.Tool, a.Args)
	text := IndentLines(call) + "\n" + IndentLines("in "+term.Visible(a.Workspace)+"; because of "+term.Visible(a.Rule))
	if about := term.Visible(a.What); !strings.Contains(call, about) { // such as what has changed since it was approved
		text += "\n" + IndentLines("about "+about)
	}
	return text
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// FullText returns a question in full: who asks where, the call, the folder, the rule.
func FullText(a service.OpenApproval) string {
	if _, ok := stepOf(a); ok {
		return fmt.Sprintf("%s asks: /approve %d, or /approve %d --deny WHY\n%s", AskerText(a), a.N, a.N, DetailText(a))
	}
	where := ""
	if a.Conversation != "" {
		where = " in " + string(a.Conversation)
	}
	return fmt.Sprintf("@%s asks%s: may it do this? /approve %d, or /approve %d --deny WHY\n%s", a.Agent, where, a.N, a.N, DetailText(a))
}

// Command is what a person typed after /approve.
type Command struct {
	N     int64 // 0: show the open questions
	Allow bool
	Why   string // of a refusal
}

// ParseAnswer parses the words after /approve. Error kind: Invalid.
func ParseAnswer(words []string) (Command, error) {
	if len(words) == 0 {
		return Command{}, nil
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || n < 1 {
		return Command{}, fika.Errorf(fika.Invalid, "", "%q is no number of a question; /approve alone shows them", term.CleanLine(words[0]))
	}
	c := Command{N: n, Allow: len(words) == 1}
	if c.Allow {
		return c, nil
	}
	if words[1] != "--deny" {
		return Command{}, fika.Errorf(fika.Invalid, "", "/approve %d allows the call once, /approve %d --deny WHY refuses it; a rule for all such calls is written by fika approve %d --always", n, n, n)
	}
	c.Why = strings.Join(words[2:], " ")
	return c, nil
}
