package storetest

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

var conversationTests = map[string]func(*world){
	"names are unique": func(w *world) {
		c := w.chat("room")
		_, err := w.CreateChat(w.ctx, "room")
		w.refused(err, fika.Conflict)
		w.chat("other")
		_, _, err = w.RenameChat(w.ctx, c.ID, "other", "ann")
		w.refused(err, fika.Conflict)
		equal(w, "entries", len(w.entries(c.ID)), 0)
	},
	"a chat that is renamed says so, and is found by its new name alone": func(w *world) {
		l := w.lease("coder")
		c := w.chat("room")
		w.post(c, "hello @coder", "coder")
		renamed, notice, err := w.RenameChat(w.ctx, c.ID, "hall", "ann")
		w.ok(err)
		equal(w, "name", renamed.Name, "hall")
		equal(w, "notice", notice.Content, "ann renamed this chat from room to hall")
		equal(w, "kind", notice.Meta.Kind, fika.RenamedNotice)
		equal(w, "stored", w.entries(c.ID)[1].ID, notice.ID)
		equal(w, "id", must(w.Conversation(w.ctx, "hall"))(w).ID, c.ID)
		_, err = w.Conversation(w.ctx, "room")
		w.refused(err, fika.NotFound)
		equal(w, "what waited is worked there", w.answer(w.claim(l), "yes").Entries[0].To, "hall")
		_, notice, err = w.RenameChat(w.ctx, c.ID, "hall", "ann")
		w.ok(err)
		equal(w, "a notice without a change", notice == nil, true)
		equal(w, "entries", len(w.entries(c.ID)), 3)
		_, _, err = w.RenameChat(w.ctx, "none", "yard", "ann")
		w.refused(err, fika.NotFound)
		_, _, err = w.RenameChat(w.ctx, must(w.ActiveAsk(w.ctx, w.agent("coder").ID))(w).ID, "yard", "ann")
		w.refused(err, fika.Invalid)
		w.chat("room")
	},
	"lists tell what is in them": func(w *world) {
		w.agent("coder")
		old, room := w.chat("old"), w.chat("room")
		w.clock.Advance(time.Second)
		w.post(room, "hello @coder", "coder")
		all := must(w.ListConversations(w.ctx, store.ConversationFilter{Kind: fika.Chat}))(w)
		equal(w, "number", len(all), 2)
		equal(w, "newest activity", all[0].ID, room.ID)
		equal(w, "oldest", all[1].ID, old.ID)
		equal(w, "messages", all[0].Messages, 1)
		equal(w, "pending", all[0].Pending, 1)
		equal(w, "participants", fmt.Sprint(all[0].Participants), "[ann coder]")
		byAgent := must(w.ListConversations(w.ctx, store.ConversationFilter{Agent: w.agent("coder").ID}))(w)
		equal(w, "chats of coder", len(byAgent), 1)
	},
	"delete ends a turn that runs in it": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "go", "coder")
		c := w.claim(l)
		w.ok(w.DeleteConversation(w.ctx, room.ID))
		_, err := w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done})
		w.refused(err, fika.Lost)
		w.refused(w.DeleteConversation(w.ctx, room.ID), fika.NotFound)
		w.nothing(l)
	},
	"delete of the active ask gives a new one": func(w *world) {
		a := w.agent("coder")
		c := must(w.ActiveAsk(w.ctx, a.ID))(w)
		w.ok(w.DeleteConversation(w.ctx, c.ID))
		if must(w.ActiveAsk(w.ctx, a.ID))(w).ID == c.ID {
			w.Fatal("the deleted conversation is still active")
		}
	},
	"search finds words, newest first": func(w *world) {
		room, hall := w.chat("room"), w.chat("hall")
		w.post(room, "the weather in Göteborg is fine")
		w.post(hall, "bad weather")
		w.post(hall, "nothing here")
		found := must(w.Search(w.ctx, "weather", store.ConversationFilter{}))(w)
		equal(w, "found", len(found), 2)
		equal(w, "newest", found[0].ConversationName, "hall")
		equal(w, "snippet", found[0].Snippet, "bad weather")
		w.post(hall, strings.Repeat("rain and ", 40)+"Snöflakes"+strings.Repeat(" and sun", 40))
		long := must(w.Search(w.ctx, "snoflakes", store.ConversationFilter{}))(w)[0].Snippet
		equal(w, "cut snippet of "+long, strings.Contains(long, "Snöflakes") && len(long) < 120 && strings.HasPrefix(long, "…") && strings.HasSuffix(long, "…"), true)
		equal(w, "accents", len(must(w.Search(w.ctx, "goteborg", store.ConversationFilter{}))(w)), 1)
		equal(w, "beginnings", len(must(w.Search(w.ctx, "weat*", store.ConversationFilter{}))(w)), 2)
		equal(w, "limit", len(must(w.Search(w.ctx, "weather", store.ConversationFilter{Limit: 1}))(w)), 1)
		for _, odd := range []string{"", "*", `"`, `weather"`, "AND OR NOT", "a:b", "(", "weather NEAR/2 x", "-x", "\x00"} {
			must(w.Search(w.ctx, odd, store.ConversationFilter{}))(w)
		}
		w.ok(w.DeleteConversation(w.ctx, hall.ID))
		equal(w, "after delete", len(must(w.Search(w.ctx, "weather", store.ConversationFilter{}))(w)), 1)
	},
	"what is deleted is not found, whoever indexes it": func(w *world) {
		find := func(word string) int { return len(must(w.Search(w.ctx, word, store.ConversationFilter{}))(w)) }
		room := w.chat("room")
		w.post(room, "lasting weather")
		for i := range 3 {
			gone := w.chat("gone")
			w.post(gone, "passing weather")
			if i == 0 {
				equal(w, "before", find("weather"), 2)
			}
			w.post(gone, "passing rain")
			w.ok(w.DeleteConversation(w.ctx, gone.ID))
			w.post(room, "new snow")
			if i == 1 {
				w.ok(w.IndexWords(w.ctx, 1))
			}
			equal(w, "passing", find("passing"), 0)
			equal(w, "lasting", find("weather"), 1)
			equal(w, "new", find("snow"), i+1)
		}
	},
	"cleanup removes what has expired and old empty chats": func(w *world) {
		w.agent("coder")
		room := w.chat("room")
		w.chat("empty")
		post := store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "brief", TTL: time.Hour, Notify: []fika.AgentName{"coder"}}
		must(w.Post(w.ctx, post))(w)
		w.post(room, "lasting")
		w.clock.Advance(2 * time.Hour)
		w.chat("young")
		equal(w, "shown", len(w.entries(room.ID)), 1)
		equal(w, "in the window", len(must(w.Before(w.ctx, room.ID, 100, 10))(w)), 1)
		try := must(w.Store.Cleanup(w.ctx, store.CleanupOptions{DryRun: true, EmptyAge: time.Hour}))(w)
		for _, r := range []store.CleanupResult{try, must(w.Store.Cleanup(w.ctx, store.CleanupOptions{EmptyAge: time.Hour}))(w)} {
			equal(w, "expired", r.Expired, 1)
			equal(w, "chats", fmt.Sprint(r.Chats), "[empty]")
		}
		equal(w, "pending", w.pending(room.ID), 0)
		equal(w, "found", len(must(w.Search(w.ctx, "brief", store.ConversationFilter{}))(w)), 0)
		equal(w, "next seq", w.post(room, "next").Entry.Seq, 3)
		equal(w, "messages", w.info(room.ID).Messages, 2)
	},
	"cleanup takes whole turns, and leaves what is pinned or under way": func(w *world) {
		w.agent("helper")
		l := w.lease("coder")
		room := w.chat("room")
		brief := func(text string, notify ...fika.AgentName) {
			must(w.Post(w.ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: text, TTL: time.Hour, Notify: notify}))(w)
		}
		turn := func(state fika.RequestState) store.Claimed {
			c := w.claim(l)
			w.plan(c, 1, fika.Pure)
			must(w.BeginTool(w.ctx, c.Fence, 2, "", ""))(w)
			must(w.CommitTool(w.ctx, c.Fence, 2, store.ToolCommit{Text: "seen"}))(w)
			f := store.Finish{State: state, TTL: time.Hour, Final: &store.ModelCommit{Round: 9, Text: "answer"}}
			for _, e := range must(w.Finish(w.ctx, c.Fence, f))(w).Entries {
				equal(w, "expiry", e.ExpiresAt.IsZero(), false)
			}
			return c
		}
		brief("1", "coder")
		turn(fika.Done) // 2 to 5
		brief("6", "coder")
		c := w.claim(l)
		w.plan(c, 1, fika.Pure) // 7, 8
		must(w.StopChat(w.ctx, room.ID, ""))(w)
		must(w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Cancelled}))(w) // 9, and 10 says so; no time to live is given
		brief("11", "helper")
		brief("12")
		must(w.Pin(w.ctx, room.ID, 12, true))(w)
		brief("13", "coder")
		c = w.claim(l)
		w.clock.Advance(2 * time.Hour)

		equal(w, "under way", must(w.Store.Cleanup(w.ctx, store.CleanupOptions{EmptyAge: time.Hour}))(w).Expired, 0)
		equal(w, "what is being answered is still shown", len(must(w.Before(w.ctx, room.ID, 13, 1))(w)), 1)
		equal(w, "the window", must(w.Before(w.ctx, room.ID, 13, 1))(w)[0].Seq, 13)
		must(w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done, TTL: time.Hour, Final: &store.ModelCommit{Round: 9, Text: "14"}}))(w)
		equal(w, "expired", must(w.Store.Cleanup(w.ctx, store.CleanupOptions{EmptyAge: time.Hour}))(w).Expired, 12)

		var left []int64
		for _, e := range w.entries(room.ID) {
			left = append(left, e.Seq)
		}
		equal(w, "left", fmt.Sprint(left), "[12 14]")
		equal(w, "messages", w.info(room.ID).Messages, 2)
		equal(w, "found", len(must(w.Search(w.ctx, "answer", store.ConversationFilter{}))(w)), 0)
		n := must(w.Notifications(w.ctx, store.NotificationFilter{Conversation: room.ID, Seq: 11}))(w)
		equal(w, "reason", n[0].Reason, "expired")
		w.nothing(w.lease("helper"))

		w.clock.Advance(48 * time.Hour)
		must(w.Store.Cleanup(w.ctx, store.CleanupOptions{EmptyAge: 24 * time.Hour}))(w)
		equal(w, "messages", w.info(room.ID).Messages, 1)
		must(w.Pin(w.ctx, room.ID, 12, false))(w)
		r := must(w.Store.Cleanup(w.ctx, store.CleanupOptions{EmptyAge: 24 * time.Hour}))(w)
		equal(w, "chats", fmt.Sprint(r.Chats), "[room]")
	},
	"a dead mention is not tried again once its message is gone": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "stays")
		must(w.Post(w.ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "x", TTL: time.Hour, Notify: []fika.AgentName{"coder"}}))(w)
		c := w.claim(l)
		w.fail(c, fika.RequestFailed)
		w.clock.Advance(2 * time.Hour)
		equal(w, "expired", must(w.Store.Cleanup(w.ctx, store.CleanupOptions{EmptyAge: time.Hour}))(w).Expired, 2) // its notice, too
		n := must(w.Notifications(w.ctx, store.NotificationFilter{Conversation: room.ID}))(w)
		equal(w, "state", n[0].State, fika.NotificationDropped)
		r := must(w.Retry(w.ctx, c.Request.ID))(w)
		equal(w, "taken over", len(must(w.Notifications(w.ctx, store.NotificationFilter{Request: r.ID}))(w)), 0)
	},
}

var entryTests = map[string]func(*world){
	"seqs count from one": func(w *world) {
		room := w.chat("room")
		for i := range 5 {
			equal(w, "seq", w.post(room, "x").Entry.Seq, int64(i+1))
		}
		w.whole(room.ID)
	},
	"a repeated id changes nothing": func(w *world) {
		w.agent("coder")
		room := w.chat("room")
		p := store.Post{Conversation: room.ID, ID: "mine", From: "ann", Writer: fika.ByHuman, Content: "one", Notify: []fika.AgentName{"coder"}}
		first := must(w.Post(w.ctx, p))(w)
		p.Content = "two"
		again := must(w.Post(w.ctx, p))(w)
		equal(w, "repeat", again.Repeat, true)
		equal(w, "content", again.Entry.Content, "one")
		equal(w, "seq", again.Entry.Seq, first.Entry.Seq)
		equal(w, "pending", w.pending(room.ID), 1)
	},
	"queries": func(w *world) {
		room := w.chat("room")
		for range 10 {
			w.post(room, "x")
		}
		count := func(q store.EntryQuery) string {
			q.Conversation = room.ID
			var seqs []int64
			for _, e := range must(w.Entries(w.ctx, q))(w) {
				seqs = append(seqs, e.Seq)
			}
			return fmt.Sprint(seqs)
		}
		equal(w, "since", count(store.EntryQuery{Since: 8}), "[9 10]")
		equal(w, "upto", count(store.EntryQuery{Upto: 2}), "[1 2]")
		equal(w, "last", count(store.EntryQuery{Last: 2}), "[9 10]")
		equal(w, "first", count(store.EntryQuery{First: 2}), "[1 2]")
		equal(w, "types", count(store.EntryQuery{Types: []fika.EntryType{fika.Notice}}), "[]")
		page := must(w.Before(w.ctx, room.ID, 5, 2))(w)
		equal(w, "page", fmt.Sprint(page[0].Seq, page[1].Seq), "5 4")
		for i, z := range must(w.Sizes(w.ctx, room.ID, 5, 2))(w) {
			x := page[i]
			equal(w, "size", fmt.Sprint(z), fmt.Sprint(store.EntrySize{Seq: x.Seq, Type: x.Type, Request: x.Request, From: len(x.From), Content: len(x.Content)}))
		}
		sent := []fika.Attachment{{Name: "a.png", MIME: "image/png"}}
		must(w.AppendCompaction(w.ctx, room.ID, "bob", "é", fika.EntryMeta{UpTo: 1, Attachments: sent}))(w)
		equal(w, "size", fmt.Sprint(must(w.Sizes(w.ctx, room.ID, 99, 1))(w)[0]), fmt.Sprint(store.EntrySize{Seq: 11, Type: fika.Compaction, From: 3, Content: 2, Attachments: sent}))
		e := must(w.EntryByID(w.ctx, room.ID, page[0].ID))(w)
		equal(w, "by id", e.Seq, 5)
		_, err := w.EntryByID(w.ctx, room.ID, "nothing")
		w.refused(err, fika.NotFound)
	},
	"a limit counts the rows that are asked for": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "1", "coder")
		c := w.claim(l)
		w.plan(c, 1, fika.Pure, fika.Pure) // 2 and the calls, 3 and 4
		for n := range 2 {
			must(w.BeginTool(w.ctx, c.Fence, 2+n, "", ""))(w)
			must(w.CommitTool(w.ctx, c.Fence, 2+n, store.ToolCommit{Text: "seen"}))(w)
		}
		w.answer(c, "7")
		w.post(room, "8")
		for want, q := range map[string]store.EntryQuery{
			"[7 8]": {Last: 2}, "[1 2 7]": {First: 3}, "[7]": {Since: 2, First: 1}, "[2 7 8]": {Last: 3},
		} {
			q.Conversation, q.Types = room.ID, []fika.EntryType{fika.Message, fika.Notice}
			var seqs []int64
			for _, e := range must(w.Entries(w.ctx, q))(w) {
				seqs = append(seqs, e.Seq)
			}
			equal(w, "rows", fmt.Sprint(seqs), want)
		}
	},
	"all of an entry comes back": func(w *world) {
		room := w.chat("room")
		e := fika.Entry{
			ID: "x", At: w.clock.Now().Add(-time.Hour), From: "a", To: "b", Content: "line\nline | \\ \x00 ☕", Type: fika.ToolResult,
			Request: "r", ReplyTo: "y", Chain: "c", Depth: 3, Pinned: true, ExpiresAt: w.clock.Now(),
			Meta: fika.EntryMeta{Writer: fika.ByTool, ToolCallID: "t", IsError: true, Usage: &fika.Usage{Input: 1}},
		}
		equal(w, "new", must(w.Import(w.ctx, room.ID, []fika.Entry{e}))(w), 1)
		got := must(w.EntryByID(w.ctx, room.ID, "x"))(w)
		e.Conversation, e.Seq = room.ID, 1
		equal(w, "entry", asJSON(w, got), asJSON(w, e))
		equal(w, "expiry", got.ExpiresAt.Equal(e.ExpiresAt), true)
	},
	"import skips what is there": func(w *world) {
		room := w.chat("room")
		in := []fika.Entry{
			{ID: "1", Seq: 10, Type: fika.Message, Content: "a"},
			{ID: "2", Seq: 11, Type: fika.Message, Content: "b"},
			{ID: "3", Seq: 12, Type: fika.Compaction, Meta: fika.EntryMeta{UpTo: 11, Kept: []int64{10, 5}}},
		}
		w.post(room, "before")
		equal(w, "new", must(w.Import(w.ctx, room.ID, in[:2]))(w), 2)
		equal(w, "new", must(w.Import(w.ctx, room.ID, in))(w), 1)
		equal(w, "new", must(w.Import(w.ctx, room.ID, in))(w), 0)
		all := w.entries(room.ID)
		equal(w, "entries", len(all), 4)
		equal(w, "compaction", fmt.Sprint(all[3].Meta.UpTo, all[3].Meta.Kept), "3 [2]")
		_, err := w.Import(w.ctx, room.ID, []fika.Entry{{ID: "9", Type: "riddle"}})
		w.refused(err, fika.Invalid)
	},
	"the last compaction that was not undone": func(w *world) {
		room := w.chat("room")
		w.post(room, "x")
		last := func() int64 {
			e := must(w.LastCompaction(w.ctx, room.ID, "", 100))(w)
			if e == nil {
				return 0
			}
			return e.Seq
		}
		compact := func(m fika.EntryMeta) int64 {
			return must(w.AppendCompaction(w.ctx, room.ID, "user", "", m))(w).Seq
		}
		equal(w, "none", last(), 0)
		one := compact(fika.EntryMeta{UpTo: 1})
		two := compact(fika.EntryMeta{UpTo: 2})
		equal(w, "newest", last(), two)
		undo := compact(fika.EntryMeta{Undo: two})
		equal(w, "undone", last(), one)
		compact(fika.EntryMeta{Undo: undo})
		equal(w, "undo undone", last(), two)
		equal(w, "before", must(w.LastCompaction(w.ctx, room.ID, "", one))(w).Seq, one)
	},
	"deliver is an inbox": func(w *world) {
		a := w.agent("coder")
		m := store.Send{To: a.ID, ID: "m1", From: "writer", Writer: fika.ByAgent, WriterName: "writer", Content: "look"}
		p := must(w.Deliver(w.ctx, m))(w)
		equal(w, "conversation", p.Entry.Conversation, must(w.ActiveAsk(w.ctx, a.ID))(w).ID)
		equal(w, "repeat", must(w.Deliver(w.ctx, m))(w).Repeat, true)
		equal(w, "pending", w.pending(p.Entry.Conversation), 1)
		c := w.claim(w.lease("coder"))
		equal(w, "kind", c.Request.Kind, fika.NotifyRequest)
		equal(w, "to", w.answer(c, "seen").Entries[0].To, "writer")
	},
	"posts to nowhere and to nobody": func(w *world) {
		_, err := w.Post(w.ctx, store.Post{Conversation: "none", Content: "x"})
		w.refused(err, fika.NotFound)
		room := w.chat("room")
		_, err = w.Post(w.ctx, store.Post{Conversation: room.ID, Content: "x", Notify: []fika.AgentName{"nobody"}})
		w.refused(err, fika.NotFound)
		equal(w, "kept", len(w.entries(room.ID)), 0)
	},
}
