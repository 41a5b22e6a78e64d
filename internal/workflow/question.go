package workflow

import (
	"strings"

	"fika"
)

// Question is what a step asks a person. Its JSON is the arguments of an approval.
type Question struct {
	Run      string   `json:"run"`
	Step     string   `json:"step"`
	Question string   `json:"question"`
	Choice   []string `json:"choice,omitempty"` // of which the answer is one; empty: of none
	Answer   string   `json:"answer,omitempty"` // AnswerText, if the answer is a text
}

// Wants says with what the question is answered, as the end of a sentence; "" means
// with yes or no.
func (q Question) Wants() string {
	switch {
	case len(q.Choice) > 0:
		return "one of " + strings.Join(q.Choice, ", ")
	case q.Answer != "":
		return "a text"
	}
	return ""
}

// maxReply bounds a person's answer, in bytes.
const maxReply = MaxText

// Take returns a person's answer as the output of the step: of a choice as it is
// written in the definition. It fails with Invalid if the question is not answered by
// it.
func (q Question) Take(text string) (string, error) {
	text = strings.TrimSpace(text)
	for _, one := range q.Choice {
		if strings.EqualFold(one, text) {
			return one, nil
		}
	}
	switch {
	case len(q.Choice) > 0 && text != "":
		return "", fika.Errorf(fika.Invalid, "", "%.100q cannot be chosen: step %s asks for %s", text, q.Step, q.Wants())
	case q.Wants() != "" && text == "":
		return "", fika.Errorf(fika.Invalid, "", "the answer is missing: step %s asks for %s", q.Step, q.Wants())
	case len(text) > maxReply:
		return "", fika.Errorf(fika.Invalid, "", "the answer has %d bytes, more than %d: put it into a file and name that", len(text), maxReply)
	}
	return text, nil
}
