package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"fika/internal/llm/llmtest"
)

// A step of a workflow says which job it belongs to and what it is called:
//
//	run 7 step each-c
//
// The answer is a mark of its own and all marks in the prompt, so that the last answer
// of a run shows what reached it, whatever was killed on the way.
var (
	stepAsked = regexp.MustCompile(`run (\d+) step ([a-z0-9-]+)`)
	marked    = regexp.MustCompile(`\[(?:any|[a-z0-9]+-[a-z0-9-]+)\]`)
)

// stepKey is a step of a job and the agent that is asked.
type stepKey struct{ job, step, agent string }

// stepAsk is one request to the model about a step.
type stepAsk struct {
	stepKey
	at time.Time
}

// stepOf finds the step that a request is about.
func stepOf(r llmtest.Request) (k stepKey, prompt string, ok bool) {
	for i := len(r.Messages) - 1; i >= 0 && !ok; i-- {
		if r.Messages[i].Role != "user" {
			continue
		}
		prompt = r.Messages[i].Text
		if m := stepAsked.FindStringSubmatch(prompt); m != nil {
			k, ok = stepKey{m[1], m[2], r.Model}, true
		}
	}
	return k, prompt, ok
}

// step answers a request about a step of a workflow. It refuses the first one about
// the step flaky in a way that no retry of the program can repair.
func (m *model) step(r llmtest.Request) (llmtest.Script, bool) {
	k, prompt, ok := stepOf(r)
	if !ok {
		return nil, false
	}
	m.mu.Lock()
	first := !slices.ContainsFunc(m.steps, func(a stepAsk) bool { return a.stepKey == k })
	m.steps = append(m.steps, stepAsk{k, time.Now()})
	m.mu.Unlock()
	if first && strings.Contains(k.step, "flaky") {
		return llmtest.Script{llmtest.Status(400, "refused", 0)}, true
	}
	return llmtest.Script{llmtest.Delay(m.thinks), llmtest.Text(k.answer(marked.FindAllString(prompt, -1))), llmtest.Usage(50, 5)}, true
}

// answer returns the answer of a step whose prompt has these marks.
func (k stepKey) answer(marks []string) string {
	if k.step == "plan" {
		return `["a", "b", "c", "d", "e", "f", "g", "h", "i", "flaky"]`
	}
	own := fmt.Sprintf("[%s-%s]", k.step, k.agent)
	if k.step == "any" {
		own = "[any]" // whichever is first
	}
	return joined(append(marks, own))
}

// joined returns the distinct marks in order.
func joined(marks []string) string {
	slices.Sort(marks)
	return strings.Join(slices.Compact(marks), "")
}
