package turn_test

import (
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/store"
	"fika/internal/turn"
)

// TestRewoundIsNotShown: what a rewind has taken out is in no window, does not taint, and is
// shown again once it is put back.
func TestRewoundIsNotShown(t *testing.T) {
	w := newWorld(t)
	server := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		var said []string
		for _, m := range r.Messages {
			if m.Role == "user" && strings.Contains(m.Text, "point") {
				said = append(said, m.Text[strings.Index(m.Text, "point"):])
			}
		}
		return llmtest.Script{llmtest.Text("seen: " + strings.Join(said, ", "))}
	})
	room, err := w.store.CreateChat(t.Context(), "room")
	w.ok(err)
	answer := func(words, taint string) (string, string) {
		t.Helper()
		w.say(room.ID, store.Post{Content: "@arya " + words, Notify: []fika.AgentName{"arya"}, Taint: taint})
		cfg := w.config()
		cfg.Model = openai.New(openai.Options{Model: "m", BaseURL: server.URL()})
		res, err := turn.New(cfg).Run(t.Context(), w.claim())
		w.ok(err)
		return res.Outcome.Answer, res.Outcome.Taint
	}
	answer("point 1", "")
	if _, taint := answer("point 2", "fetch a.example"); taint == "" {
		t.Fatal("the turn is not tainted")
	}
	_, err = w.store.Rewind(t.Context(), room.ID, 3, false, "ann", "")
	w.ok(err)
	if got, taint := answer("point 3", ""); got != "seen: point 1, point 3" || taint != "" {
		t.Errorf("after the rewind %q, tainted by %q", got, taint)
	}
	_, err = w.store.Rewind(t.Context(), room.ID, 0, true, "ann", "")
	w.ok(err)
	if got, taint := answer("point 4", ""); got != "seen: point 1, point 2, point 3, point 4" || taint == "" {
		t.Errorf("put back %q, tainted by %q", got, taint)
	}
	if n := len(slices.DeleteFunc(w.entries(room.ID), func(e fika.Entry) bool { return e.Type != fika.Rewind })); n != 2 {
		t.Errorf("%d rewinds", n)
	}
}
