package flow_test

import (
	"testing"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

const choosing = `
[[steps]]
id = "colour"
choice = ["Dark blue", "red"]
prompt = "which colour?"
[[steps]]
id = "note"
needs = ["colour"]
answer = "text"
prompt = "why {{.steps.colour.output}}?"
[[steps]]
id = "blue"
needs = ["note"]
when = 'steps.colour.output == "Dark blue"'
agent = "a"
prompt = "{{.steps.colour.output}}: {{.steps.note.output}}"
`

// answer answers the one open question.
func (w *world) reply(text string) error {
	w.Helper()
	open := must(w.store.OpenApprovals(w.Context()))(w)
	w.want("questions", len(open), 1)
	_, err := w.store.AnswerApproval(w.Context(), open[0].N, store.ApprovalAnswer{Allow: true, By: "ann", Why: text})
	return err
}

// TestChoice: a person chooses one of several answers, or writes their own; what is no
// answer is refused, with the list, and the question stays open.
func TestChoice(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start(choosing, nil)
		w.advance(run)
		for text, want := range map[string]string{
			"green": `"green" cannot be chosen: step colour asks for one of Dark blue, red`,
			" ":     `the answer is missing: step colour asks for one of Dark blue, red`,
		} {
			err := w.reply(text)
			w.want("kind", fika.KindOf(err), fika.Invalid)
			has(w.T, err.Error(), want)
			w.want("state", w.steps(run)["colour"].State, workflow.Asking)
		}
		w.ok(w.reply(" dark BLUE"))
		w.advance(run)
		err := w.reply("")
		w.want("kind", fika.KindOf(err), fika.Invalid)
		has(w.T, err.Error(), "step note asks for a text")
		w.ok(w.reply("it calms"))
		w.want("answer", w.work(run).Outcome.Answer, "a did: Dark blue: it calms")
	})
}

// TestChoiceRefused: a person may also refuse to choose, which fails the step.
func TestChoiceRefused(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start(choosing, nil)
		w.advance(run)
		open := must(w.store.OpenApprovals(w.Context()))(w)
		must(w.store.AnswerApproval(w.Context(), open[0].N, store.ApprovalAnswer{By: "ann", Why: "none of these"}))(w)
		w.want("state", w.work(run).State, fika.RequestFailed)
		w.want("error", w.steps(run)["colour"].Error, "none of these")
	})
}
