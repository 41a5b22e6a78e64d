package storetest

import (
	"fmt"
	"time"

	"fika"
	"fika/internal/store"
)

// mode sets the mode of a chat.
func (w *world) mode(c fika.Conversation, m fika.Mode) {
	w.Helper()
	now, _, err := w.SetMode(w.ctx, c.ID, m, "ann")
	w.ok(err)
	equal(w, "mode", now.Mode, m)
}

// under returns the mode that bounds a turn.
func (w *world) under(c store.Claimed) fika.Mode {
	w.Helper()
	return must(w.Signal(w.ctx, c.Fence))(w).Mode
}

var modeTests = map[string]func(*world){
	"a chat has a mode once a person sets it": func(w *world) {
		room := w.chat("room")
		equal(w, "at first", room.Mode, "")
		from := w.now()
		w.mode(room, fika.PlanMode)
		w.mode(room, fika.PlanMode)
		equal(w, "stored", must(w.ConversationByID(w.ctx, room.ID))(w).Mode, fika.PlanMode)
		told := w.since(from)
		equal(w, "told", len(told), 1)
		d := dataOf(w, told[0])
		equal(w, "event", fmt.Sprintln(told[0].Kind, told[0].State, d.Mode, d.Person), "conversation active plan ann\n")
		hall := must(w.CreateChatIn(w.ctx, "hall", fika.EditMode))(w)
		equal(w, "made with", must(w.ConversationByID(w.ctx, hall.ID))(w).Mode, fika.EditMode)
		w.accept(fika.AskRequest, w.agent("coder").ID, "x")
		ask := must(w.AskConversations(w.ctx, w.agent("coder").ID))(w)[0]
		_, _, err := w.SetMode(w.ctx, ask.ID, fika.PlanMode, "ann")
		w.refused(err, fika.Invalid)
		_, _, err = w.SetMode(w.ctx, "none", fika.PlanMode, "ann")
		w.refused(err, fika.NotFound)
	},
	"plan mode ends what runs in the background because of the chat": func(w *world) {
		coder, helper, room := w.lease("coder"), w.lease("helper"), w.chat("room")
		w.post(room, "go", "coder")
		c := w.claim(coder)
		here := must(w.StartJob(w.ctx, coder, store.Job{Conversation: room.ID, Request: c.Request.ID, Command: "here"}))(w)
		st := w.plan(c, 1, fika.Idempotent)[0]
		must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: st.N, Agent: helper.Agent, Prompt: "serve", Deadline: time.Hour}}))(w)
		d := w.claim(helper)
		there := store.Job{Conversation: d.Conversation.ID, Request: d.Request.ID, Command: "there"}
		must(w.StartJob(w.ctx, helper, there))(w)
		other := w.job(helper, w.chat("hall"), "elsewhere")
		_, jobs, err := w.SetMode(w.ctx, room.ID, fika.EditMode, "ann")
		equal(w, "edit mode", fmt.Sprint(jobs, err), "[] <nil>")
		_, jobs, err = w.SetMode(w.ctx, room.ID, fika.PlanMode, "ann")
		equal(w, "plan mode", fmt.Sprint(jobs, err), "[coder helper] <nil>")
		equal(w, "asked", fmt.Sprint(must(w.Job(w.ctx, here.N))(w).Ending, must(w.Job(w.ctx, other.N))(w).Ending), "true false")
		_, err = w.StartJob(w.ctx, helper, there)
		w.refused(err, fika.Denied)
	},
	"it holds for mentions and delegated tasks, until it is changed": func(w *world) {
		coder, helper, reviewer, room := w.lease("coder"), w.lease("helper"), w.lease("reviewer"), w.chat("room")
		w.mode(room, fika.PlanMode)
		w.post(room, "go", "coder")
		c := w.claim(coder)
		equal(w, "claimed", c.Conversation.Mode, fika.PlanMode)
		equal(w, "the turn", w.under(c), fika.PlanMode)
		st := w.plan(c, 1, fika.Idempotent)[0]
		must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: st.N, Agent: helper.Agent, Prompt: "look", Deadline: time.Hour}}))(w)
		k := w.claim(helper)
		equal(w, "the task", w.under(k), fika.PlanMode)
		deeper := w.plan(k, 1, fika.Idempotent)[0]
		must(w.Delegate(w.ctx, k.Fence, []store.Delegation{{N: deeper.N, Agent: reviewer.Agent, Prompt: "look", Deadline: time.Hour}}))(w)
		deep := w.claim(reviewer)
		equal(w, "the task of the task", w.under(deep), fika.PlanMode)
		w.mode(room, fika.EditMode)
		equal(w, "changed", w.under(deep), fika.EditMode)
		w.answer(deep, "seen")
	},
	"it goes with a message to another conversation": func(w *world) {
		coder, helper, room := w.lease("coder"), w.lease("helper"), w.chat("room")
		w.mode(room, fika.AskMode)
		w.post(room, "go", "coder")
		c := w.claim(coder)
		must(w.Deliver(w.ctx, store.Send{
			To: helper.Agent, From: "coder", Writer: fika.ByAgent, WriterName: "coder", Content: "do it", Chain: c.Request.Chain, Depth: 1,
		}))(w)
		equal(w, "the message", w.under(w.claim(helper)), fika.AskMode)
	},
	"the stricter mode holds where two do": func(w *world) {
		coder, room, hall := w.lease("coder"), w.chat("room"), w.chat("hall")
		w.mode(room, fika.AutoMode)
		w.mode(hall, fika.PlanMode)
		w.post(room, "go", "coder")
		c := w.claim(coder)
		w.answer(c, "done")
		must(w.Post(w.ctx, store.Post{
			Conversation: hall.ID, From: "helper", WriterName: "helper", Writer: fika.ByAgent, Content: "do it here", Notify: []fika.AgentName{"coder"}, Chain: c.Request.Chain,
		}))(w)
		equal(w, "there", w.under(w.claim(coder)), fika.PlanMode)
	},
	"a plan is accepted once, with its mode and its message": func(w *world) {
		coder, room := w.lease("coder"), w.chat("room")
		finish := func(text string, state fika.RequestState) fika.Entry {
			w.post(room, "think", "coder")
			c := w.claim(coder)
			done := must(w.Finish(w.ctx, c.Fence, store.Finish{State: state, Final: &store.ModelCommit{Round: 1, Text: text, Plan: true}, Limits: w.limits}))(w)
			return done.Entries[0]
		}
		accept := func(id fika.EntryID) (store.Posted, error) {
			return w.Post(w.ctx, store.Post{
				Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "@coder carry it out", Notify: []fika.AgentName{"coder"}, ReplyTo: id, Accepts: id, Mode: fika.EditMode,
			})
		}
		equal(w, "without the mode", finish("# Plan", fika.Done).Meta.Plan, false)
		w.mode(room, fika.PlanMode)
		_, err := w.Plan(w.ctx, room.ID)
		w.refused(err, fika.NotFound)
		old := finish("# Plan", fika.Done)
		equal(w, "a plan", must(w.Plan(w.ctx, room.ID))(w).ID, old.ID)
		equal(w, "one that failed", finish("# Plan", fika.RequestFailed).Meta.Plan, false)
		plan := finish("# Plan, better", fika.Done)
		before := len(w.entries(room.ID))
		for _, id := range []fika.EntryID{old.ID, "none"} {
			_, err = accept(id)
			w.refused(err, fika.Conflict)
		}
		equal(w, "nothing was said", len(w.entries(room.ID)), before)
		equal(w, "nothing was set", must(w.ConversationByID(w.ctx, room.ID))(w).Mode, fika.PlanMode)
		must(w.Rewind(w.ctx, room.ID, plan.Seq-1, false, "ann", ""))(w)
		_, err = accept(plan.ID)
		w.refused(err, fika.Conflict)
		must(w.Rewind(w.ctx, room.ID, 0, true, "ann", ""))(w)
		got := must(accept(plan.ID))(w)
		equal(w, "said", fmt.Sprintln(got.Entry.ReplyTo == plan.ID, got.Notified), "true [coder]\n")
		equal(w, "set", must(w.ConversationByID(w.ctx, room.ID))(w).Mode, fika.EditMode)
		_, err = accept(plan.ID)
		w.refused(err, fika.Conflict)
		_, err = w.Plan(w.ctx, room.ID)
		w.refused(err, fika.NotFound)
		c := w.claim(coder)
		equal(w, "the work", w.under(c), fika.EditMode)
		w.answer(c, "done")
	},
	"two accept a plan at once": func(w *world) {
		coder, room := w.lease("coder"), w.chat("room")
		w.mode(room, fika.PlanMode)
		w.post(room, "think", "coder")
		plan := must(w.Finish(w.ctx, w.claim(coder).Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "# Plan", Plan: true}, Limits: w.limits}))(w).Entries[0]
		errs := make([]error, 4)
		together(len(errs), func(i int) {
			_, errs[i] = w.Post(w.ctx, store.Post{
				Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "@coder go", Notify: []fika.AgentName{"coder"}, Accepts: plan.ID, Mode: fika.AutoMode,
			})
		})
		accepted := 0
		for _, err := range errs {
			if err == nil {
				accepted++
			} else {
				w.refused(err, fika.Conflict)
			}
		}
		equal(w, "accepted", accepted, 1)
		w.answer(w.claim(coder), "done")
		w.nothing(coder)
	},
	"no call begins under another mode than it was judged under": func(w *world) {
		coder, room := w.lease("coder"), w.chat("room")
		w.post(room, "go", "coder")
		c := w.claim(coder)
		st := w.plan(c, 1, fika.Unsafe, fika.Unsafe)
		w.mode(room, fika.PlanMode)
		sig := must(w.BeginTool(w.ctx, c.Fence, st[0].N, "", ""))(w)
		equal(w, "moved", sig, store.Signal{Mode: fika.PlanMode, Moved: true})
		equal(w, "state", must(w.Steps(w.ctx, c.Request.ID))(w)[st[0].N-1].State, fika.StepPlanned)
		sig = must(w.OfferTool(w.ctx, c.Fence, st[1].N, "", fika.AutoMode, "box", `{}`))(w)
		equal(w, "moved", sig, store.Signal{Mode: fika.PlanMode, Moved: true})
		equal(w, "begun", must(w.BeginTool(w.ctx, c.Fence, st[0].N, "", fika.PlanMode))(w), store.Signal{})
		equal(w, "offered", must(w.OfferTool(w.ctx, c.Fence, st[1].N, "", fika.PlanMode, "box", `{}`))(w), store.Signal{})
		l := must(w.AcquireExecutor(w.ctx, "box", "test", "nobody", time.Hour))(w)
		w.mode(room, fika.EditMode)
		equal(w, "the executor's", must(w.ClaimStep(w.ctx, l))(w).Mode, fika.EditMode)
	},
}
