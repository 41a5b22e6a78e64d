package learn

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fika"
)

// Case is one ended request of the agent and what there is to learn from it.
type Case struct {
	Request      fika.RequestID
	Kind         fika.RequestKind
	Conversation fika.ConversationName
	At           time.Time // when it ended
	State        fika.RequestState
	Error        string // why it did not end well
	Asked        string
	Answered     string
	Rejected     []string // what the model was told about answers in the wrong form
	Failed       []Call   // tool calls that failed or were refused
	Denied       []Call   // tool calls that a person did not allow
	// Earlier is what the agent had answered right before, if a person then asked this
	// in the same conversation, which may make it a correction.
	Earlier string
	Prompt  int64 // seq of the prompt; 0: not known
	Taint   Taint
}

// Call is a tool call that did not do its job.
type Call struct {
	Tool   string
	Args   string
	Result string // its result; of a denied one, the reason
}

// Taint names the text from outside that a case holds, and the first entry that holds
// it. The zero value means none.
type Taint struct {
	From string
	Seq  int64 // of the entry; 0: the request itself is marked
}

// Teaches reports whether there may be something to learn from the case: it did not go
// smoothly, or a person sent it after an answer, which may be a correction.
func (c Case) Teaches() bool {
	return c.State != fika.Done || len(c.Failed)+len(c.Denied)+len(c.Rejected) > 0 || strings.TrimSpace(c.Earlier) != ""
}

// FirstTainted returns the first case that holds text from outside, if any.
func FirstTainted(cases []Case) (Case, bool) {
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Taint.From != "" })
	if i < 0 {
		return Case{}, false
	}
	return cases[i], true
}

// Limits of what is shown of one item: characters of a text and a result, and calls.
const (
	mostSaid   = 1500
	mostResult = 500
	mostCalls  = 8
)

// Tokens estimates the tokens it takes to show the case.
func (c Case) Tokens() int64 { return int64(len(c.text(1)))/4 + 1 }

// text returns a case as the model reads it.
func (c Case) text(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %d. %s, %s in %s: %s\n", n, c.At.UTC().Format("2006-01-02 15:04"), c.Kind, c.Conversation, c.State)
	part := func(label, text string, most int) {
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", label, indent(cut(text, most)))
		}
	}
	if c.Earlier != "" {
		part("The agent had answered", c.Earlier, mostSaid)
		part("To which the user said", c.Asked, mostSaid)
	} else {
		part("The agent was asked", c.Asked, mostSaid)
	}
	for i, f := range c.Failed {
		if i == mostCalls {
			fmt.Fprintf(&b, "(%d more calls failed)\n", len(c.Failed)-i)
			break
		}
		part("It called "+f.Tool+" with", f.Args, mostResult)
		part("which failed", f.Result, mostResult)
	}
	for _, d := range c.Denied {
		part("It wanted to call "+d.Tool+" with", d.Args, mostResult)
		part("A person did not allow that", orNoReason(d.Result), mostResult)
	}
	for _, r := range c.Rejected {
		part("An answer was sent back", r, mostResult)
	}
	part("It answered", c.Answered, mostSaid)
	part("It ended badly", c.Error, mostResult)
	return b.String()
}

func orNoReason(why string) string {
	if strings.TrimSpace(why) == "" {
		return "(without a reason)"
	}
	return why
}

// cut keeps the beginning of a text and says how many characters are left out.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:most]) + fmt.Sprintf(" … (%d characters left out)", len(runes)-most)
}

// indent sets a text apart from its surroundings, so that it cannot pass for them.
func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
