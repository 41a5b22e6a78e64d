package storetest

import (
	"fmt"
	"reflect"
	"time"

	"fika"
	"fika/internal/store"
)

// allowing returns rights to the given tools.
func allowing(tools ...string) *fika.Rights {
	return &fika.Rights{Tools: append([]string{}, tools...), Sandbox: "best"}
}

func (w *world) rights(what string, got, want *fika.Rights) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Fatalf("the rights of %s are %+v, want %+v", what, got, want)
	}
}

// lastEntry returns the newest entry of a conversation.
func (w *world) lastEntry(c fika.ConversationID) fika.Entry {
	w.Helper()
	all := w.entries(c)
	return all[len(all)-1]
}

var rightsTests = map[string]func(*world){
	"what a person asks for has no bound": func(w *world) {
		l, room := w.lease("coder"), w.chat("room")
		w.post(room, "@coder", "coder")
		w.rights("a mention", w.claim(l).Request.Rights, nil)
		w.rights("an ask", w.accept(fika.AskRequest, l.Agent, "x").Request.Rights, nil)
	},
	"a mention hands its rights to the turn": func(w *world) {
		reader, coder, room := w.lease("reader"), w.lease("coder"), w.chat("room")
		w.post(room, "@reader", "reader")
		c := w.claim(reader)
		must(w.Finish(w.ctx, c.Fence, store.Finish{
			State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "@coder run it", Taint: fika.Taint{From: "fetch a.example"}},
			Notify: []fika.AgentName{"coder"}, Rights: allowing("read", "list"), Outcome: fika.Outcome{Taint: "fetch a.example"}, Limits: w.limits,
		}))(w)
		equal(w, "taint of the answer", w.lastEntry(room.ID).Meta.Taint.From, "fetch a.example")
		equal(w, "taint of the request", w.state(c.Request.ID, fika.Done).Taint, "fetch a.example")
		got := w.claim(coder)
		w.rights("the turn", got.Request.Rights, allowing("read", "list"))
		w.rights("its row", w.state(got.Request.ID, fika.Running).Rights, allowing("read", "list"))
	},
	"a turn that several have caused has what all of them have": func(w *world) {
		coder, room := w.lease("coder"), w.chat("room")
		post := func(r *fika.Rights) {
			must(w.Post(w.ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "@coder", Notify: []fika.AgentName{"coder"}, Rights: r}))(w)
		}
		post(allowing("bash", "read", "edit"))
		post(nil)
		post(allowing("read", "bash"))
		post(allowing("fetch", "read"))
		w.rights("the turn", w.claim(coder).Request.Rights, allowing("read"))
	},
	"a notification that waits again keeps its rights": func(w *world) {
		coder, room := w.lease("coder"), w.chat("room")
		must(w.Post(w.ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "@coder", Notify: []fika.AgentName{"coder"}, Rights: allowing("read")}))(w)
		c := w.claim(coder)
		w.fail(c, fika.RequestFailed)
		again := must(w.Retry(w.ctx, c.Request.ID))(w)
		w.rights("the retry", again.Rights, allowing("read"))
		w.rights("its turn", w.claim(coder).Request.Rights, allowing("read"))
	},
	"a message hands its rights and its taint on": func(w *world) {
		coder := w.lease("coder")
		p := must(w.Deliver(w.ctx, store.Send{
			To: coder.Agent, From: "reader", Writer: fika.ByAgent, WriterName: "reader", Content: "run it", Rights: allowing("read"), Taint: "fetch a.example",
		}))(w)
		equal(w, "taint", p.Entry.Meta.Taint, fika.Taint{From: "fetch a.example"})
		w.rights("the turn", w.claim(coder).Request.Rights, allowing("read"))
	},
	"a task hands its rights and its taint on": func(w *world) {
		boss, coder := w.lease("boss"), w.lease("coder")
		w.accept(fika.AskRequest, boss.Agent, "have it done")
		c := w.claim(boss)
		n := w.plan(c, 1, fika.Idempotent)[0].N
		must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: n, Agent: coder.Agent, Prompt: "x", Deadline: time.Minute, Rights: allowing("read"), Taint: "bus"}}))(w)
		k := w.claim(coder)
		w.rights("the task", k.Request.Rights, allowing("read"))
		equal(w, "taint of the task", k.Request.Taint, "bus")
		equal(w, "taint of its prompt", k.Prompt.Meta.Taint, fika.Taint{From: "bus"})
		w.answer(k, "done")
		equal(w, "taint of the answer", w.state(k.Request.ID, fika.Done).Taint, "bus")
	},
	"what is accepted and begun hands its rights on": func(w *world) {
		l := w.lease("coder")
		n := store.NewRequest{ID: "r", Kind: fika.AskRequest, Agent: l.Agent, Payload: fika.Payload{Prompt: "x", History: []fika.HistoryEntry{{Role: "user", Content: "before"}}}, Conversation: "other", Rights: allowing(), Taint: "bus"}
		acc := must(w.Accept(w.ctx, n))(w)
		equal(w, "taint of the history", w.lastEntry(acc.Conversation.ID).Meta.Taint.From, "bus")
		n.Taint, n.Rights = "", nil
		again := must(w.Accept(w.ctx, n))(w) // repeating the request cannot remove the bound
		w.rights("the repeated request", again.Request.Rights, allowing())
		w.rights("the turn", w.claim(l).Request.Rights, allowing())
		run := must(w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Payload: fika.Payload{Prompt: "x"}, Rights: allowing("read")}))(w)
		w.rights("the run", run.Request.Rights, allowing("read"))
	},
	"a tool that reads from outside taints its request at once": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "look")
		c := w.claim(l)
		n := w.plan(c, 1, fika.Pure)[0].N
		equal(w, "taint before", w.state(c.Request.ID, fika.Running).Taint, "")
		e := must(w.CommitTool(w.ctx, c.Fence, n, store.ToolCommit{Text: "a page", Taint: fika.Taint{From: "fetch a.example"}}))(w)
		equal(w, "taint of the result", e.Meta.Taint.From, "fetch a.example")
		equal(w, "taint after", w.state(c.Request.ID, fika.Running).Taint, "fetch a.example")
		p := must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: 2, Text: "hm", Taint: fika.Taint{From: "fetch a.example", Seq: e.Seq}, Calls: []store.PlannedCall{{CallID: "b", Tool: "read", Args: "{}"}}}))(w)
		for _, said := range p.Entries {
			equal(w, fmt.Sprint("taint of ", said.Type), said.Meta.Taint.Seq, e.Seq)
		}
	},
	"a turn says what it may cause before its tools run": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "look")
		c := w.claim(l)
		w.rights("what it causes", w.state(c.Request.ID, fika.Running).Passes, nil)
		for round, r := range []*fika.Rights{allowing("read"), nil} { // nil: unchanged
			must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: round + 1, Text: "hm", Passes: r}))(w)
			w.rights("what it causes", w.state(c.Request.ID, fika.Running).Passes, allowing("read"))
		}
	},
	"an imported taint points at what it came from": func(w *world) {
		ask := must(w.ActiveAsk(w.ctx, w.agent("coder").ID))(w)
		entry := func(id fika.EntryID, seq, from int64) fika.Entry {
			return fika.Entry{ID: id, Seq: seq, Type: fika.Message, From: "coder", Content: string(id), Meta: fika.EntryMeta{Taint: fika.Taint{From: "bus", Seq: from}}}
		}
		must(w.Import(w.ctx, ask.ID, []fika.Entry{entry("a", 10, 0), entry("b", 11, 10), entry("c", 12, 4)}))(w)
		all := w.entries(ask.ID)
		equal(w, "of what is there", all[1].Meta.Taint.Seq, all[0].Seq)
		equal(w, "of what is not", all[2].Meta.Taint.Seq, int64(0))
	},
}
