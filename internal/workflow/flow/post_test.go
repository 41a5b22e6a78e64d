package flow_test

import (
	"testing"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// TestPost: a step posts its prompt in a chat and is done with it; the post calls nobody
// there, and its text is the step's output.
func TestPost(t *testing.T) {
	onEngines(t, func(w *world) {
		room, other := w.chat("room"), w.chat("other")
		run := w.start(`
[inputs]
room = "room"
[[steps]]
id = "one"
agent = "a"
prompt = "1"
[[steps]]
id = "tell"
needs = ["one"]
post = "{{.inputs.room}}"
prompt = "@b: {{.steps.one.output}}"
[[steps]]
id = "all"
needs = ["tell"]
for_each = '["other", "room", "other"]'
post = "{{.item}}"
prompt = "{{.index}} {{.steps.tell.output}}"
`, nil)
		r := w.work(run)
		w.want("state", r.State, fika.Done)
		w.want("answer", r.Outcome.Answer, "0 @b: a did: 1\n\n1 @b: a did: 1\n\n2 @b: a did: 1")
		w.want("room", w.saidIn(room), []string{"workflow: @b: a did: 1", "workflow: 1 @b: a did: 1"})
		w.want("other", w.saidIn(other), []string{"workflow: 0 @b: a did: 1", "workflow: 2 @b: a did: 1"})
		w.want("asked", w.asked, []string{"a: 1"})
		w.want("where", w.steps(run)["tell"].Conversation, "room")
	})
}

// TestPostNowhere: a step that posts in a chat that does not exist fails and says how to
// make it; once there is one, the run goes on.
func TestPostNowhere(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='tell'\npost='room'\nprompt='done'\n", nil)
		r := w.work(run)
		w.want("state", r.State, fika.RequestFailed)
		has(w.T, r.Outcome.Error, "chat room not found (fika chat create room)")
		room := w.chat("room")
		w.resume(run, nil, "")
		w.want("state", w.work(run).State, fika.Done)
		w.want("room", w.saidIn(room), []string{"workflow: done"})
	})
}

// TestPostApproved: a person is shown what is to be posted, and nothing is before they
// agree.
func TestPostApproved(t *testing.T) {
	onEngines(t, func(w *world) {
		room := w.chat("room")
		run := w.start("[[steps]]\nid='tell'\napprove=true\npost='room'\nprompt='it is out'\n", nil)
		w.advance(run)
		w.want("room", len(w.saidIn(room)), 0)
		open := must(w.store.OpenApprovals(w.Context()))(w)
		has(w.T, open[0].Args, "it is out")
		must(w.store.AnswerApproval(w.Context(), open[0].N, store.ApprovalAnswer{Allow: true, By: "ann"}))(w)
		w.want("state", w.advance(run).State, fika.Done)
		w.want("room", w.saidIn(room), []string{"workflow: it is out"})
	})
}

// TestPostTainted: a post of text from outside says so.
func TestPostTainted(t *testing.T) {
	onEngines(t, func(w *world) {
		room := w.chat("room")
		run := w.start("[[steps]]\nid='x'\nagent='a'\nprompt='x'\n[[steps]]\nid='tell'\nneeds=['x']\npost='room'\nprompt='{{.steps.x.output}}'\n", nil)
		w.advance(run)
		c := w.claim("a")
		_, err := w.store.Finish(w.Context(), c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "read"}, Outcome: fika.Outcome{Taint: "fetch example.org"}})
		w.ok(err)
		w.want("state", w.advance(run).State, fika.Done)
		w.want("taint", must(w.store.Entries(w.Context(), store.EntryQuery{Conversation: room.ID}))(w)[0].Meta.Taint.From, "fetch example.org")
	})
}

// TestPostToGenerated: a run posts in chats only, not in the conversation of a task.
func TestPostToGenerated(t *testing.T) {
	onEngines(t, func(w *world) {
		first := w.start("[[steps]]\nid='x'\nagent='a'\nprompt='x'\n", nil)
		w.advance(first)
		task := w.claim("a").Conversation
		run := w.start("[[steps]]\nid='tell'\npost='"+string(task.Name)+"'\nprompt='done'\n", nil)
		w.want("state", w.work(run).State, fika.RequestFailed)
		w.want("reason", w.steps(run)["tell"].Reason, string(fika.NotFound))
		w.want("kind", workflow.KindPost, w.steps(run)["tell"].Kind)
	})
}
