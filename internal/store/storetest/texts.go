package storetest

import (
	"fika"
	"fika/internal/store"
)

// textTests are about the texts that hosts share.
var textTests = map[string]func(*world){
	"a text is changed by who has seen it": func(w *world) {
		a := w.agent("arya")
		text := store.SharedText{Agent: a.ID, Kind: "todos", Body: "- a\x00\xff", Host: "h1"}
		first := must(w.ShareText(w.ctx, text, 0))(w)
		_, err := w.ShareText(w.ctx, text, 0)
		w.refused(err, fika.Conflict)
		text.Body, text.Host = "", "h2"
		second := must(w.ShareText(w.ctx, text, first))(w)
		_, err = w.ShareText(w.ctx, text, first)
		w.refused(err, fika.Conflict)
		got := must(w.TextsSince(w.ctx, first))(w)
		if len(got) != 1 || got[0].Body != "" || got[0].Host != "h2" || got[0].Version != second || second <= first {
			w.Errorf("read %+v", got)
		}
		equal(w, "after the last", len(must(w.TextsSince(w.ctx, second))(w)), 0)
	},
	"conflicts are those with files": func(w *world) {
		a := w.agent("arya")
		one, two := store.TextConflict{Path: "/a", Agent: a.ID, Kind: "todos"}, store.TextConflict{Path: "/b", Agent: a.ID, Kind: "goals"}
		w.ok(w.SetTextConflicts(w.ctx, "h1", []store.TextConflict{one, two}))
		w.ok(w.SetTextConflicts(w.ctx, "h2", []store.TextConflict{one}))
		w.ok(w.SetTextConflicts(w.ctx, "h1", []store.TextConflict{two}))
		list := must(w.TextConflicts(w.ctx))(w)
		if len(list) != 2 || list[0].Host+list[0].Path != "h2/a" || list[1].Host+list[1].Path != "h1/b" || list[0].AgentName != a.Name {
			w.Errorf("conflicts %+v", list)
		}
		w.ok(w.DeleteAgent(w.ctx, a.ID))
		equal(w, "of an agent that is gone", len(must(w.TextConflicts(w.ctx))(w)), 0)
	},
}
