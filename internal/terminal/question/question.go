package question

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"fika"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/hint"
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

// AskerText names the asker as lists show it.
func AskerText(a service.OpenApproval) string {
	if s, ok := service.StepQuestionOf(a); ok {
		return fmt.Sprintf("step %s of run %s", term.Visible(s.Step), s.Run)
	}
	return fmt.Sprintf("@%s in %s", a.Agent, a.Conversation)
}

// DetailText returns the content of a question: a call with its folder and the rule,
// and the subject of the question if the call does not show it; or, for a step of a
// run, its question.
func DetailText(a service.OpenApproval) string {
	if s, ok := service.StepQuestionOf(a); ok {
		text := cmp.Or(s.Question, "may it begin?")
		if wants := s.Wants(); wants != "" {
			text += "\nto be answered with " + wants
		}
		return IndentLines(term.Visible(text))
	}
	call := ShowCall(a.Tool, a.Args)
	text := IndentLines(call) + "\n" + IndentLines("in "+term.Visible(a.Workspace)+"; because of "+term.Visible(a.Rule))
	if about := term.Visible(a.What); !strings.Contains(call, about) { // such as what has changed since it was approved
		text += "\n" + IndentLines("about "+about)
	}
	return text
}

// FullText returns a question in full: who asks where, the call, the folder, the rule.
func FullText(a service.OpenApproval) string {
	if s, ok := service.StepQuestionOf(a); ok {
		answer := ""
		if s.Wants() != "" {
			answer = " ANSWER"
		}
		return fmt.Sprintf("%s asks: /approve %d%s, or /approve %d --deny WHY\n%s", AskerText(a), a.N, answer, a.N, DetailText(a))
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
	Why   string // the reason of a refusal, or the answer to a step of a run
}

// ParseAnswer parses the words after /approve. Error kind: Invalid.
func ParseAnswer(words []string) (Command, error) {
	if len(words) == 0 {
		return Command{}, nil
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || n < 1 {
		return Command{}, fika.Errorf(fika.Invalid, "", "%q is not the number of a question; /approve alone shows them", term.CleanLine(words[0]))
	}
	c := Command{N: n, Allow: true, Why: strings.Join(words[1:], " ")}
	switch {
	case len(words) > 1 && words[1] == "--deny":
		c.Allow, c.Why = false, strings.Join(words[2:], " ")
	case strings.HasPrefix(c.Why, "--"):
		return Command{}, yesOrNo(n)
	}
	return c, nil
}

// yesOrNo is the error for words that do not answer a question about a tool call.
func yesOrNo(n int64) error {
	return fika.Errorf(fika.Invalid, "", "/approve %d allows the call once, /approve %d --deny WHY refuses it; a rule for all such calls is written by %s", n, n, hint.ApproveAlways.With(n))
}
