package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
)

// steer gives a text to an agent that may be at work in a chat.
func (w *world) steer(c fika.Conversation, text string, notify ...fika.AgentName) store.Posted {
	w.Helper()
	return must(w.Post(w.ctx, store.Post{Conversation: c.ID, From: "ann", WriterName: "ann", Writer: fika.ByHuman, Content: text, Notify: notify, Steer: true}))(w)
}

// said returns type, text and request of the messages of a conversation that people wrote.
func (w *world) said(c fika.ConversationID) string {
	w.Helper()
	var out []string
	for _, e := range w.entries(c) {
		if e.Meta.Writer == fika.ByHuman {
			out = append(out, strings.TrimSpace(e.Content+" "+string(e.Request)))
		}
	}
	return strings.Join(out, ", ")
}

var inputTests = map[string]func(*world){
	"a turn takes what waits for it": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "go", "coder")
		equal(w, "at rest it is posted", w.steer(room, "before", "coder").Input == nil, true)
		c := w.claim(l)
		equal(w, "nothing waits", must(w.Signal(w.ctx, c.Fence))(w).Inputs, false)
		from := w.now()
		one, two := w.steer(room, "one", "coder"), w.steer(room, "two", "coder")
		equal(w, "for the agent", one.Input.AgentName, "coder")
		equal(w, "something waits", must(w.Signal(w.ctx, c.Fence))(w).Inputs, true)
		equal(w, "queue", len(must(w.QueuedInputs(w.ctx, room.ID))(w)), 2)
		st := w.plan(c, 1, fika.Pure)[0]
		_, err := w.TakeInputs(w.ctx, c.Fence)
		w.refused(err, fika.Conflict)
		must(w.CommitTool(w.ctx, c.Fence, st.N, store.ToolCommit{Text: "seen"}))(w)
		taken := must(w.TakeInputs(w.ctx, c.Fence))(w)
		equal(w, "taken", fmt.Sprintln(taken[0].Content, taken[0].Request == c.Request.ID, taken[0].Chain == c.Request.Chain, taken[0].Depth == c.Request.Depth, taken[0].To), "one true true true coder\n")
		equal(w, "ids", fmt.Sprint(taken[0].ID, taken[1].ID), fmt.Sprint(one.Input.ID, two.Input.ID))
		equal(w, "taken again", len(must(w.TakeInputs(w.ctx, c.Fence))(w)), 0)
		equal(w, "state", must(w.Input(w.ctx, two.Input.ID))(w).State, store.InputTaken)
		w.answer(c, "done")
		equal(w, "said", w.said(room.ID), fmt.Sprintf("go, before, one %s, two %[1]s", c.Request.ID))
		equal(w, "of the turn", len(must(w.OfRequest(w.ctx, c.Request.ID))(w)), 6)
		w.nothing(l)
		w.whole(room.ID)
		var told []string
		for _, e := range w.since(from) {
			if e.Kind == store.InputEvent {
				told = append(told, fmt.Sprint(e.State, e.Seq, dataOf(w, e).ID == one.Input.ID))
			}
		}
		equal(w, "told", strings.Join(told, ", "), "queued0 true, queued0 false, taken6 true, taken7 false")
	},
	"what still waits when a turn ends is posted": func(w *world) {
		for _, end := range []func(c store.Claimed){
			func(c store.Claimed) { w.answer(c, "done") },
			func(c store.Claimed) { w.fail(c, fika.RequestFailed) },
			func(c store.Claimed) { w.fail(c, fika.Cancelled) },
			func(c store.Claimed) { // one that waits, for an approval
				must(w.AskApproval(w.ctx, c.Fence, []store.Approval{{Step: w.plan(c, 1, fika.Unsafe)[0].N}}, w.clock.Now().Add(time.Hour)))(w)
				must(w.Cancel(w.ctx, c.Request.ID, ""))(w)
			},
			func(c store.Claimed) { // one whose owner died after it was cancelled
				must(w.Cancel(w.ctx, c.Request.ID, ""))(w)
				w.recover(must(w.Acquire(w.ctx, c.Request.Agent, "next", time.Hour, true))(w))
			},
		} {
			l := w.lease("coder")
			room := w.chat(fika.ConversationName(fmt.Sprint("room", w.clock.Now().UnixNano())))
			w.clock.Advance(time.Second)
			w.post(room, "go", "coder")
			c := w.claim(l)
			in := w.steer(room, "more", "coder").Input
			back := w.steer(room, "not this", "coder").Input
			equal(w, "withdrawn", must(w.WithdrawInput(w.ctx, back.ID))(w).State, store.InputWithdrawn)
			end(c)
			equal(w, "said", w.said(room.ID), "go, more")
			equal(w, "state", must(w.Input(w.ctx, in.ID))(w).State, store.InputPosted)
			equal(w, "too late", must(w.WithdrawInput(w.ctx, in.ID))(w).State, store.InputPosted)
			l = w.lease("coder")
			next := w.claim(l)
			equal(w, "window", next.Request.UptoSeq, must(w.Input(w.ctx, in.ID))(w).Seq)
			equal(w, "chain", next.Request.Chain, fika.RequestID(in.ID))
			w.answer(next, "yes")
			w.nothing(l)
			w.whole(room.ID)
		}
	},
	"only what is for one agent at work waits": func(w *world) {
		l := w.lease("coder")
		w.agent("reviewer")
		room, hall := w.chat("room"), w.chat("hall")
		w.post(room, "go", "coder")
		w.claim(l)
		equal(w, "for two", w.steer(room, "a", "coder", "reviewer").Input == nil, true)
		equal(w, "for another", w.steer(room, "b", "reviewer").Input == nil, true)
		equal(w, "for nobody", w.steer(room, "c").Input == nil, true)
		equal(w, "elsewhere", w.steer(hall, "d", "coder").Input == nil, true)
		p := store.Post{Conversation: room.ID, From: "reviewer", Writer: fika.ByAgent, WriterName: "reviewer", Content: "e", Notify: []fika.AgentName{"coder"}, Steer: true}
		equal(w, "of an agent", must(w.Post(w.ctx, p))(w).Input == nil, true)
		equal(w, "waits", w.steer(room, "f", "coder").Input != nil, true)
		d := must(w.StopChat(w.ctx, room.ID, ""))(w)
		equal(w, "taken back", d.Inputs, 1)
		equal(w, "queue", len(must(w.QueuedInputs(w.ctx, ""))(w)), 0)
		_, err := w.Input(w.ctx, "none")
		w.refused(err, fika.NotFound)
		_, err = w.WithdrawInput(w.ctx, "none")
		w.refused(err, fika.NotFound)
		w.ok(w.DeleteConversation(w.ctx, room.ID))
	},
	"a text is delivered once, whatever happens at the same time": func(w *world) {
		l := w.lease("coder")
		for round := range 6 {
			room := w.chat(fika.ConversationName(fmt.Sprint("room", round)))
			w.post(room, "go", "coder")
			c := w.claim(l)
			var mu sync.Mutex
			var ids []fika.EntryID
			posted := map[fika.EntryID]bool{}
			together(6, func(i int) {
				switch i {
				case 0:
					if _, err := w.TakeInputs(w.ctx, c.Fence); err != nil && !fika.IsKind(err, fika.Lost) {
						w.Error(err)
					}
				case 1:
					if _, err := w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "done"}}); err != nil {
						w.Error(err)
					}
				default:
					p, err := w.Post(w.ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: fmt.Sprint("text ", i), Notify: []fika.AgentName{"coder"}, Steer: true})
					if err != nil {
						w.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					if p.Input == nil {
						posted[p.Entry.ID] = true
						return
					}
					ids = append(ids, p.Input.ID)
					if i == 2 {
						_, err = w.WithdrawInput(w.ctx, p.Input.ID)
					}
					if err != nil {
						w.Error(err)
					}
				}
			})
			there := map[fika.EntryID]int{}
			for _, e := range w.entries(room.ID) {
				there[e.ID]++
			}
			for _, id := range ids {
				in := must(w.Input(w.ctx, id))(w)
				want := 1
				if in.State == store.InputWithdrawn {
					want = 0
				}
				if there[id] != want || in.State == store.InputQueued {
					w.Errorf("%s is %s and %d times there", in.Content, in.State, there[id])
				}
			}
			equal(w, "texts", len(ids)+len(posted), 4)
			for {
				next := must(w.Claim(w.ctx, l, w.limits, nil))(w)
				if next == nil {
					break
				}
				w.answer(*next, "and that")
			}
			w.whole(room.ID)
			if list := must(w.QueuedInputs(w.ctx, room.ID))(w); len(list) > 0 || slices.ContainsFunc(w.entries(room.ID), func(e fika.Entry) bool { return e.Seq == 0 }) {
				w.Errorf("left: %+v", list)
			}
		}
	},
}
