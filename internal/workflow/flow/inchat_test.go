package flow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// startInChat begins a run from a line in a chat.
func (w *world) startInChat(chat fika.Conversation, text string) fika.RequestID {
	w.Helper()
	l, err := workflow.ParseLine(text, nil)
	w.ok(err)
	d := l.Definition()
	frozen, err := d.Freeze()
	w.ok(err)
	r, err := w.store.Start(w.Context(), store.NewRun{
		Definition: frozen, Inputs: []byte(`{"prompt":"which one?"}`), From: "ann", Title: l.Title(), In: &store.RunLine{Chat: chat.ID, Text: text, By: "ann"},
	})
	w.ok(err)
	return r.ID
}

func (w *world) chat(name fika.ConversationName) fika.Conversation {
	w.Helper()
	return must(w.store.CreateChat(w.Context(), name))(w)
}

// saidIn returns the messages in a chat, one per element.
func (w *world) saidIn(chat fika.Conversation) []string {
	w.Helper()
	var out []string
	for _, e := range must(w.store.Entries(w.Context(), store.EntryQuery{Conversation: chat.ID}))(w) {
		out = append(out, e.From+": "+strings.ReplaceAll(e.Content, "\n", " "))
	}
	return out
}

// TestResultInTheChat: a run that was begun in a chat posts its result there, once,
// wherever the process that advances it dies; the post calls nobody in the chat.
func TestResultInTheChat(t *testing.T) {
	onEngines(t, func(w *world) {
		chat := w.chat("s-1")
		run := w.startInChat(chat, "@a, @b: which one?")
		w.answer = func(a fika.AgentName, _ string) (string, error) {
			if a == "b" {
				return "", errors.New("no idea")
			}
			return "this one, @c", nil
		}
		dies := 0
		for n := 0; !w.run(run).Over(); n++ {
			if n > 100 {
				t.Fatal("it never ends")
			}
			f := w.advancerOf(mortal{w.store, func() bool { dies++; return dies%3 == 0 }})
			_ = f.Advance(w.Context(), run) // it dies before or after a write
			for _, name := range []fika.AgentName{"a", "b", "c"} {
				if c := w.claim(name); c != nil {
					w.end(c)
				}
			}
		}
		w.ok(w.flow.Advance(w.Context(), run))
		w.want("said", strings.Join(w.saidIn(chat), "\n"), "ann: @a, @b: which one?\nworkflow: @a: this one, @c  @b gave no answer: no idea  The run "+string(run)+
			" is failed: step b failed: no idea. fika workflow resume "+string(run)+" continues with what is not done.")
		w.want("asked", len(w.asked), 2)
		if c := w.claim("c"); c != nil {
			t.Errorf("c was called by %q", c.Prompt.Content)
		}
	})
}

// TestResultWithoutTheChat: deleting a chat in the middle of its run loses nothing
// but the place for the result.
func TestResultWithoutTheChat(t *testing.T) {
	onEngines(t, func(w *world) {
		chat := w.chat("s-1")
		run := w.startInChat(chat, "@a -> @b: which one?")
		w.advance(run)
		w.end(w.claim("a"))
		w.ok(w.store.DeleteConversation(w.Context(), chat.ID))
		w.want("state", w.work(run).State, fika.Done)
	})
}

// TestPausedChatHoldsItsRun: a run that begins in a paused chat is paused with it.
func TestPausedChatHoldsItsRun(t *testing.T) {
	onEngines(t, func(w *world) {
		chat := w.chat("s-1")
		_, err := w.store.SetPaused(w.Context(), chat.ID, true)
		w.ok(err)
		run := w.startInChat(chat, "@a, @b: which one?")
		w.want("over", w.work(run).Over(), false)
		w.want("asked", len(w.asked), 0)
		_, _, err = w.store.ContinueRun(w.Context(), run)
		w.ok(err)
		w.want("state", w.work(run).State, fika.Done)
	})
}

// TestWorkDeletedInMidRun: deleting the agent or the chat that a step waits for fails
// the step, and the run goes on from there.
func TestWorkDeletedInMidRun(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='x'\nagent='c'\nprompt='x'\n[[steps]]\nid='y'\nagent='a'\nprompt='y'\n[[steps]]\nid='end'\nneeds=['x','y']\njoin='ended'\nagent='b'\nprompt='{{.steps.x.error}}'\n", nil)
		w.advance(run)
		w.ok(w.store.Release(w.Context(), w.leases["c"]))
		row := must(w.store.Agent(w.Context(), "c"))(w)
		w.ok(w.store.DeleteAgent(w.Context(), row.ID))
		w.want("due", w.due(w.Context()), []fika.RequestID{run})
		delete(w.leases, "c")
		w.end(w.claim("a"))
		w.advance(run)
		w.end(w.claim("b"))
		w.want("state", w.advance(run).State, fika.Done)
		w.want("asked", w.asked, []string{"a: y", "b: the agent c was deleted"})
	})
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='talk'\nchat={agents=['a','b'], topic='x', max=4}\n", nil)
		w.advance(run)
		list := must(w.store.Discussions(w.Context(), run))(w)
		w.want("discussions", len(list), 1)
		w.ok(w.store.DeleteConversation(w.Context(), list[0].Conversation.ID))
		r := w.advance(run)
		w.want("state", r.State, fika.RequestFailed)
		w.want("reason", r.Reason, "step talk failed: its chat was deleted")
	})
}

// TestWhoWorkedItIsSaidInTheChat: if another agent worked a step than the one asked,
// a backup or a member of a pool, the answer in the chat and the steps name both.
func TestWhoWorkedItIsSaidInTheChat(t *testing.T) {
	onEngines(t, func(w *world) {
		chat := w.chat("s-1")
		run := w.startInChat(chat, "@a, @b: which one?")
		w.answer = func(fika.AgentName, string) (string, error) { return "this one", nil }
		w.advance(run)
		moved := 0
		for _, st := range must(w.store.RunSteps(w.Context(), run, time.Time{}))(w) {
			if st.Agent != "a" {
				continue
			}
			moved++
			done, err := w.store.HandOver(w.Context(), store.HandOver{
				Request: st.Request, From: must(w.store.Agent(w.Context(), "a"))(w).ID, To: must(w.store.Agent(w.Context(), "c"))(w).ID, Why: "@a has failed",
			})
			w.ok(err)
			w.want("handed over", done.Done, true)
		}
		w.want("moved", moved, 1)
		for _, name := range []fika.AgentName{"b", "c"} {
			w.end(w.claim(name))
		}
		w.advance(run)
		w.want("said", strings.Join(w.saidIn(chat), "\n"), "ann: @a, @b: which one?\nworkflow: @c for @a: this one  @b: this one")
		for _, st := range must(w.store.RunSteps(w.Context(), run, time.Time{}))(w) {
			w.want("who worked "+st.Path, st.Who(), map[fika.AgentName]string{"a": "@c for @a", "b": "@b"}[st.Agent])
		}
	})
}
