package flow_test

import (
	"errors"
	"slices"
	"testing"

	"fika"
	"fika/internal/workflow"
)

// someFail lets the given prompts fail.
func (w *world) someFail(prompts ...string) {
	w.answer = func(a fika.AgentName, prompt string) (string, error) {
		if slices.Contains(prompts, prompt) {
			return "", errors.New("no " + prompt)
		}
		return string(a) + " did: " + prompt, nil
	}
}

const partial = `
[[steps]]
id = "each"
agent = "a"
for_each = '["x", "y", "z"]'
prompt = "{{.item}}"
[[steps]]
id = "sum"
needs = ["each"]
join = "ended"
agent = "b"
prompt = "{{json .steps.each.output}} {{range .steps.each.failed}}{{.index}} {{.item}}: {{.error}};{{end}}"
[[steps]]
id = "last"
needs = ["sum"]
agent = "c"
prompt = "last"
`

// TestPartialResults: a step that accepts the failure of a for_each reads what its
// other items gave, each in its place, and which items failed and why.
func TestPartialResults(t *testing.T) {
	onEngines(t, func(w *world) {
		w.someFail("y")
		run := w.start(partial, nil)
		r := w.work(run)
		w.want("state", r.State, fika.Done)
		w.want("each", w.steps(run)["each"].State, workflow.Failed)
		w.want("asked", w.askedOf("b"), []string{`["a did: x","","a did: z"] 1 y: no y;`})
	})
}

// TestMendFailedItems: the failed items of one step are the list of another.
func TestMendFailedItems(t *testing.T) {
	onEngines(t, func(w *world) {
		w.someFail("try y", "try z")
		run := w.start("[[steps]]\nid='each'\nagent='a'\nfor_each='[\"x\", \"y\", \"z\"]'\nprompt='try {{.item}}'\n[[steps]]\nid='mend'\nneeds=['each']\njoin='ended'\nagent='b'\nfor_each='steps.each.failed'\nprompt='mend {{.item.item}}'\n", nil)
		w.want("answer", w.work(run).Outcome.Answer, "b did: mend y\n\nb did: mend z")
	})
}

// TestEndedAlone: a step with join = "ended" that needs a single step begins when that
// has ended, whatever became of it, unless it was skipped.
func TestEndedAlone(t *testing.T) {
	onEngines(t, func(w *world) {
		for when, want := range map[string]string{
			"true":  "b did: failed: no x",
			"false": "",
		} {
			w.someFail("x")
			run := w.start("[[steps]]\nid='x'\nagent='a'\nwhen='"+when+"'\nprompt='x'\n[[steps]]\nid='tell'\nneeds=['x']\njoin='ended'\nagent='b'\nprompt='{{.steps.x.state}}: {{.steps.x.error}}'\n", nil)
			r := w.work(run)
			w.want("state when "+when, r.State, fika.Done)
			w.want("answer when "+when, r.Outcome.Answer, want)
		}
	})
}

// TestResumeAccepted: resuming a run that accepted the failure of some items tries
// these alone, and then the steps after them; what is left of another failure goes
// first.
func TestResumeAccepted(t *testing.T) {
	onEngines(t, func(w *world) {
		w.someFail("y", "last")
		run := w.start(partial, nil)
		w.want("state", w.work(run).State, fika.RequestFailed)
		w.someFail("y")
		w.asked = nil
		w.resume(run, nil, "")
		w.want("state", w.work(run).State, fika.Done)
		w.want("asked", w.asked, []string{"c: last"})
		for _, failing := range []string{"y", "nothing"} {
			w.someFail(failing)
			w.asked = nil
			w.resume(run, nil, "")
			w.want("state", w.work(run).State, fika.Done)
			w.want("items", w.askedOf("a"), []string{"y"})
			w.want("after them", w.asked[2], "c: last")
		}
		w.want("sum", w.askedOf("b"), []string{`["a did: x","a did: y","a did: z"] `})
		text, _, _, err := w.store.Definition(w.Context(), run)
		w.ok(err)
		old := must(workflow.Thaw(text))(w)
		if _, err := workflow.ResumeRows(string(run), old, old, must(w.store.Resumable(w.Context(), run))(w), ""); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("all is done: %v", err)
		}
	})
}

// TestResumeFromBefore: items that are done do not stay if the list that they came from
// is made anew.
func TestResumeFromBefore(t *testing.T) {
	onEngines(t, func(w *world) {
		list, failing := `["x", "y"]`, "y"
		w.answer = func(_ fika.AgentName, prompt string) (string, error) {
			switch prompt {
			case "plan":
				return list, nil
			case failing:
				return "", errors.New("no " + failing)
			}
			return "did " + prompt, nil
		}
		run := w.start("[[steps]]\nid='plan'\nagent='a'\noutput='json'\nprompt='plan'\n[[steps]]\nid='each'\nneeds=['plan']\nagent='b'\nfor_each='steps.plan.output'\nprompt='{{.item}}'\n", nil)
		w.want("state", w.work(run).State, fika.RequestFailed)
		list, failing = `["u", "v", "w"]`, ""
		w.resume(run, nil, "plan")
		w.want("answer", w.work(run).Outcome.Answer, "did u\n\ndid v\n\ndid w")
	})
}
