package flow_test

import (
	"strings"
	"testing"

	"fika"
	"fika/internal/workflow"
)

const whoFromItem = `
[[steps]]
id = "plan"
agent = "a"
output = "json"
prompt = "plan"
[[steps]]
id = "each"
needs = ["plan"]
agent = "{{.item.who}}"
for_each = "steps.plan.output"
prompt = "do {{.item.what}}"
`

// plans lets the step plan give a list.
func (w *world) plans(list string) {
	w.answer = func(a fika.AgentName, prompt string) (string, error) {
		if prompt == "plan" {
			return list, nil
		}
		return string(a) + " did: " + prompt, nil
	}
}

// TestAgentOfAnItem: each item goes to the agent that it names.
func TestAgentOfAnItem(t *testing.T) {
	onEngines(t, func(w *world) {
		w.plans(`[{"who": "b", "what": "x"}, {"who": "@c", "what": "y"}]`)
		w.want("answer", w.work(w.start(whoFromItem, nil)).Outcome.Answer, "b did: do x\n\nc did: do y")
	})
}

// TestUnknownAgentOfAnItem: if an item names an agent that does not exist, nothing of
// the step begins, and the error says which item and which agent.
func TestUnknownAgentOfAnItem(t *testing.T) {
	onEngines(t, func(w *world) {
		for list, want := range map[string]string{
			`[{"who": "b", "what": "x"}, {"who": "bob", "what": "y"}]`: `item 2 ({"what":"y","who":"bob"}): agent "bob" not found; known: a, b, c`,
			`[{"who": "workflow"}]`:          `item 1 ({"who":"workflow"}): agent name: "workflow" is no agent`,
			`[{"who": "b"}, {"what": "x"}]`:  `at <.item.who>: map has no entry for key "who"`,
			`[{"who": "no name at all"}]`:    `item 1 ({"who":"no name at all"}): `,
			`[{"who": {"name": "b"}}, "x" ]`: ``,
		} {
			w.plans(list)
			w.asked = nil
			run := w.start(whoFromItem, nil)
			w.want("state", w.work(run).State, fika.RequestFailed)
			w.want("asked", w.asked, []string{"a: plan"})
			each := w.steps(run)["each"]
			w.want("state", each.State, workflow.Failed)
			has(w.T, each.Error, want)
		}
	})
}

// TestAgentOfAStep: what one step says may choose the agent of the next.
func TestAgentOfAStep(t *testing.T) {
	onEngines(t, func(w *world) {
		text := "[[steps]]\nid='plan'\nagent='a'\nprompt='plan'\n[[steps]]\nid='do'\nneeds=['plan']\nagent='{{.steps.plan.output}}'\nprompt='do'\n"
		w.plans("c")
		w.want("answer", w.work(w.start(text, nil)).Outcome.Answer, "c did: do")
		w.plans("nobody")
		has(w.T, w.work(w.start(text, nil)).Outcome.Error, "agent not found: nobody")
	})
}

// has fails the test unless a text contains another.
func has(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q, want %q in it", text, part)
	}
}
