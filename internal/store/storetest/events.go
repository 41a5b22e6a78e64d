package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
)

// since returns the events behind a cursor.
func (w *world) since(from store.Cursor) []store.Event {
	w.Helper()
	var out []store.Event
	tail := w.Tail(from)
	for {
		list := must(tail.Next(w.ctx, 100, false))(w)
		if len(list) == 0 {
			return out
		}
		out = append(out, list...)
	}
}

// now returns a cursor behind all events so far.
func (w *world) now() store.Cursor {
	w.Helper()
	return must(w.Confirmed(w.ctx))(w)
}

// lines returns kind, seq and state of events.
func lines(list []store.Event) string {
	var out []string
	for _, e := range list {
		text := string(e.Kind)
		if e.Seq > 0 {
			text += fmt.Sprintf(" %d", e.Seq)
		}
		out = append(out, strings.TrimSpace(text+" "+e.State))
	}
	return strings.Join(out, ", ")
}

func dataOf(w *world, e store.Event) (d store.EventData) {
	w.Helper()
	if e.Data != nil {
		w.ok(json.Unmarshal(e.Data, &d))
	}
	return d
}

var eventTests = map[string]func(*world){
	"a hop is three events": func(w *world) {
		l := w.lease("coder")
		w.agent("reviewer")
		room := w.chat("room")
		w.post(room, "hello @coder @reviewer", "coder", "reviewer")
		w.answer(w.claim(l), "yes")
		w.clock.Advance(time.Second)
		w.post(room, "again @coder", "coder")
		w.clock.Advance(time.Second)
		from := w.now()
		c := w.claim(l)
		must(w.Finish(w.ctx, c.Fence, store.Finish{
			State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "@reviewer look", Model: "m", Usage: fika.Usage{Input: 7, Output: 3}},
			Notify: []fika.AgentName{"reviewer"},
		}))(w)
		got := w.since(from)
		equal(w, "events", lines(got), "request running, entry 4 message, request done")
		for _, e := range got {
			equal(w, "request", e.Request, c.Request.ID)
			equal(w, "conversation", e.Conversation, room.ID)
			equal(w, "chain", e.Chain, c.Request.Chain)
			equal(w, "agent", e.Agent, l.Agent)
		}
		equal(w, "epoch", dataOf(w, got[0]).Epoch, l.Epoch)
		said, ended := dataOf(w, got[1]), dataOf(w, got[2])
		equal(w, "notified", fmt.Sprint(said.Notify), "[reviewer]")
		equal(w, "final", said.Final, true)
		equal(w, "answer", ended.Answer, 4)
		equal(w, "usage", *ended.Usage, fika.Usage{Input: 7, Output: 3})
	},
	"a tool call has one id in all that is told of it": func(w *world) {
		l := w.lease("coder")
		c := w.begin(l, "x")
		from := w.now()
		st := w.plan(c, 1, fika.Unsafe)[0]
		must(w.BeginTool(w.ctx, c.Fence, st.N, "", ""))(w)
		must(w.CommitTool(w.ctx, c.Fence, st.N, store.ToolCommit{Text: "secret output", IsError: true}))(w)
		got := w.since(from)
		equal(w, "events", lines(got), "entry 2 message, step 1 done, entry 3 tool_call, step 2 planned, step 2 started, entry 4 tool_result, step 2 done")
		for _, i := range []int{2, 3, 4, 5, 6} {
			d := dataOf(w, got[i])
			equal(w, "call", d.CallID, store.CallID(c.Request.ID, 2))
			equal(w, "tool", d.Tool, "read")
		}
		equal(w, "ok", *dataOf(w, got[6]).OK, false)
		equal(w, "usage of the call", dataOf(w, got[1]).Usage.Cost, 7)
		for _, e := range got {
			if strings.Contains(string(e.Data), "secret") || strings.Contains(string(e.Data), "let me see") {
				w.Errorf("%s has text: %s", e.Kind, e.Data)
			}
		}
	},
	"what waits, ends or is asked to stop is told": func(w *world) {
		l := w.lease("coder")
		acc := w.accept(fika.TaskRequest, l.Agent, "x")
		from := w.now()
		c := w.claim(l)
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitPause, time.Time{}))
		c = w.claim(l)
		must(w.Cancel(w.ctx, acc.Request.ID, ""))(w)
		w.fail(c, fika.Cancelled)
		got := w.since(from)
		equal(w, "events", lines(got), "entry 1 message, request running, request waiting, request running, request running, entry 2 notice, request cancelled, conversation completed")
		equal(w, "reason", dataOf(w, got[2]).Wait, fika.WaitPause)
		equal(w, "asked to stop", dataOf(w, got[4]).Cancel, true)
	},
	"pauses, names, deletion and access are told": func(w *world) {
		a := w.agent("coder")
		from := w.now()
		room := w.chat("room")
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		must(w.SetAllPaused(w.ctx, false))(w)
		w.ok(w.Join(w.ctx, room.ID, "bob"))
		w.clock.Advance(time.Second)
		w.ok(w.Join(w.ctx, room.ID, "bob")) // he has joined before
		w.ok(w.SetDesired(w.ctx, a.ID, fika.DesiredStopped))
		w.ok(w.DeleteConversation(w.ctx, room.ID))
		w.ok(w.DeleteAgent(w.ctx, a.ID))
		got := w.since(from)
		equal(w, "events", lines(got), "conversation active, pause paused, pause resumed, access joined, agent stopped, conversation deleted, agent deleted")
		equal(w, "who joined", dataOf(w, got[3]).Person, "bob")
		equal(w, "desired", dataOf(w, got[4]).Desired, fika.DesiredStopped)
	},
	"what is undone is not told": func(w *world) {
		room := w.chat("room")
		from := w.now()
		p := store.Post{Conversation: room.ID, ID: "same", From: "ann", Writer: fika.ByHuman, Content: "x"}
		must(w.Post(w.ctx, p))(w)
		must(w.Post(w.ctx, p))(w)
		_, err := w.CreateChat(w.ctx, "room")
		w.refused(err, fika.Conflict)
		equal(w, "events", lines(w.since(from)), "entry 1 message, access joined")
	},
	"data stay small, whatever names are in them": func(w *world) {
		room := w.chat("room")
		var all []fika.AgentName
		for i := range 20 {
			all = append(all, w.agent(fika.AgentName(fmt.Sprintf("a%d-%s", i, strings.Repeat("x", 40)))).Name)
		}
		from := w.now()
		w.post(room, "all", all...)
		d := dataOf(w, w.since(from)[0])
		equal(w, "notified", len(d.Notify)+d.More, 20)
		for _, e := range w.since(store.Cursor{}) {
			if len(e.Data) > 1024 {
				w.Errorf("%d bytes: %s", len(e.Data), e.Data)
			}
		}
	},
	"text comes with an entry, cut whole, until the entry is gone": func(w *world) {
		room := w.chat("room")
		texts := []string{"plain", strings.Repeat("é", 40_000), "a\x00b\xff\uf8ff", strings.Repeat("\x00\uf8ff", 30_000), "x" + strings.Repeat("日", 21_845), strings.Repeat("y", 65_536)}
		from := w.now()
		for _, text := range texts {
			w.post(room, text)
		}
		read := func() (out []store.Event) {
			for _, e := range must(w.Tail(from).Next(w.ctx, 100, true))(w) {
				if e.Kind == store.EntryEvent {
					out = append(out, e)
				}
			}
			return out
		}
		list := read()
		equal(w, "entries", len(list), len(texts))
		for i, text := range texts {
			got := list[i]
			if !strings.HasPrefix(text, got.Entry.Content) || len(got.Entry.Content)+got.Cut != len(text) || got.Cut > 0 && len(got.Entry.Content) < 65_530 {
				w.Errorf("text %d of %d bytes: %d read, %d cut", i, len(text), len(got.Entry.Content), got.Cut)
			}
			if got.Cut == 0 && len(text) > 65_536 || got.Entry.From != "ann" || got.Entry.Meta.Writer != fika.ByHuman {
				w.Errorf("entry %d: %d cut, from %s", i, got.Cut, got.Entry.From)
			}
		}
		w.ok(w.DeleteConversation(w.ctx, room.ID))
		for _, e := range read() {
			equal(w, "text of what is deleted", e.Entry == nil, true)
		}
	},
	"a cursor that is not here any more is refused": func(w *world) {
		room := w.chat("room")
		old := w.now()
		w.post(room, "1")
		for _, c := range []store.Cursor{{N: old.N + 1000, At: old.At}, {N: old.N, At: old.At + 1}} {
			_, err := w.Tail(c).Next(w.ctx, 10, false)
			w.refused(err, fika.Conflict)
			equal(w, "reset", errors.Is(err, store.ErrReset), true)
		}
		behind := w.Tail(old)
		w.clock.Advance(6 * 24 * time.Hour)
		w.post(room, "2")
		last := w.now()
		w.clock.Advance(2 * 24 * time.Hour)
		w.ok(w.Prune(w.ctx, 10))
		_, err := behind.Next(w.ctx, 10, false)
		equal(w, "reset of a reader that is behind", errors.Is(err, store.ErrReset), true)
		w.clock.Advance(30 * 24 * time.Hour)
		w.ok(w.Prune(w.ctx, 10))
		equal(w, "the newest stays", len(w.since(store.Cursor{})), 1)
		w.post(room, "3")
		equal(w, "after a month", lines(w.since(last)), "entry 3 message")
	},
	"what is done outside is intended, then done": func(w *world) {
		key := store.Key{Kind: "person", Name: "ann", Door: "page", Text: "k1", Verb: "schedule.set", Body: []byte("daily")}
		for _, found := range []string{"", "as it was", "as it was"} { // the second try is that of a process that took over
			equal(w, "found before", must(w.Intend(w.ctx, key, "as it was"))(w), found)
			if known := must(w.Known(w.ctx, key))(w); known != nil {
				w.Errorf("it is done as soon as it is intended: %v", known)
			}
		}
		w.ok(w.Done(w.ctx, key))
		_, err := w.Intend(w.ctx, key, "as it is")
		equal(w, "done", errors.As(err, new(*store.Repeated)), true)
		key.Body = []byte("weekly")
		_, err = w.Intend(w.ctx, key, "as it was")
		equal(w, "reused", errors.Is(err, store.ErrKeyReused), true)
	},
	"an agent writes only while its request runs": func(w *world) {
		room := w.chat("room")
		c := w.begin(w.lease("arya"), "x")
		s := w.While(c.Request.ID)
		must(s.CreateChat(w.ctx, "first"))(w) // it is checked, and goes through
		refuse := func(err error) {
			w.Helper()
			w.refused(err, fika.Denied)
			equal(w, "named", errors.Is(err, store.ErrNotRunning), true)
		}
		key := store.Key{Kind: "agent", Name: "arya", Door: "cli", Text: "k", Verb: "conversation.send"}
		// Between the check of the caller and the write, a person asks it to stop.
		must(w.Cancel(w.ctx, c.Request.ID, ""))(w)
		_, err := s.Post(w.ctx, store.Post{Conversation: room.ID, From: "arya", Content: "late"})
		refuse(err)
		_, err = s.Once(key).Post(w.ctx, store.Post{Conversation: room.ID, From: "arya", Content: "late"})
		refuse(err)
		if known := must(w.Known(w.ctx, key))(w); known != nil {
			w.Errorf("what was refused is kept: %v", known)
		}
		w.answer(c, "done")
		_, err = s.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: c.Request.Agent, Payload: fika.Payload{Prompt: "late"}})
		refuse(err)
		_, err = w.While("nobody's").CreateChat(w.ctx, "second")
		refuse(err)
	},
	"a key is one write, whoever repeats it": func(w *world) {
		key := store.Key{Kind: "person", Name: "ann", Door: "page", Text: "k1", Verb: "chat.create", Body: []byte("room")}
		var mu sync.Mutex
		made := map[fika.ConversationID]int{}
		together(8, func(int) {
			c, err := w.Once(key).CreateChat(w.ctx, "room")
			var done *store.Repeated
			if errors.As(err, &done) {
				c.ID = done.Last(store.ConversationEvent).Conversation
			} else if err != nil {
				w.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			made[c.ID]++
		})
		equal(w, "chats", len(made), 1)
		other := key
		other.Body = []byte("hall")
		_, err := w.Once(other).CreateChat(w.ctx, "hall")
		equal(w, "reused", errors.Is(err, store.ErrKeyReused), true)
		w.refused(err, fika.Conflict)
		for _, change := range []func(*store.Key){
			func(k *store.Key) { k.Name = "bob" }, func(k *store.Key) { k.Door = "bus" }, func(k *store.Key) { k.Kind = "program" },
			func(k *store.Key) { k.Name, k.Door = "annp", "age" }, func(k *store.Key) { k.Text = "k2" },
		} {
			k := key
			change(&k)
			_, err := w.Once(k).CreateChat(w.ctx, "room") // its own write, which finds the name taken
			w.refused(err, fika.Conflict)
			equal(w, "another's key", errors.Is(err, store.ErrKeyReused) || errors.As(err, new(*store.Repeated)), false)
		}
		// A write that failed is not kept.
		k := key
		k.Text = "k3"
		_, err = w.Once(k).CreateChat(w.ctx, "room")
		w.refused(err, fika.Conflict)
		k.Body = []byte("yard")
		must(w.Once(k).CreateChat(w.ctx, "yard"))(w)
		w.clock.Advance(29 * 24 * time.Hour)
		w.ok(w.Prune(w.ctx, 10))
		_, err = w.Once(key).CreateChat(w.ctx, "room")
		equal(w, "known for a month", errors.As(err, new(*store.Repeated)), true)
		known := must(w.Known(w.ctx, key))(w)
		equal(w, "known", known.Verb+fmt.Sprint(len(known.All(store.ConversationEvent))), "chat.create1")
		_, err = w.Known(w.ctx, other)
		equal(w, "known as something else", errors.Is(err, store.ErrKeyReused), true)
		w.clock.Advance(2 * 24 * time.Hour)
		w.ok(w.Prune(w.ctx, 10))
		must(w.Once(key).CreateChat(w.ctx, "attic"))(w)
	},
}
