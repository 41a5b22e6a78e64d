package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/chat"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// TestFailureIsToldOnce: a failed turn posts one notice, which is nobody's message: it
// mentions nobody, starts nothing and is in no window.
func TestFailureIsToldOnce(t *testing.T) {
	for name, answer := range map[string]func() (llm.Response, error){
		"provider": func() (llm.Response, error) {
			return llm.Response{}, fika.Errorf(fika.Provider, "m", "503 from @gendry")
		},
		"refusal": func() (llm.Response, error) {
			return llm.Response{Stop: llm.StopRefusal, StopText: "@gendry should do that"}, nil
		},
		"rounds": func() (llm.Response, error) {
			return llm.Response{Text: "@gendry wait", Calls: []llm.Call{call("", "look", "{}")}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t, store.Limits{}, "arya", "gendry")
			tb.add("look", fika.Pure, nil)
			tb.post("@arya go", "arya")
			c, err := tb.store.Claim(t.Context(), tb.leases["arya"], tb.limits, nil)
			tb.ok(err)
			cfg := tb.config()
			cfg.MaxRounds = 3
			cfg.Mentioned = func(ctx context.Context, conv fika.Conversation, said string) ([]fika.AgentName, error) {
				return chat.New(tb.store, nil).Mentioned(ctx, conv, "arya", said)
			}
			tb.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) { return answer() }
			res, err := turn.New(cfg).Run(t.Context(), *c)
			tb.ok(err)
			if res.State != fika.RequestFailed || len(res.Notified) != 0 {
				t.Errorf("%+v", res)
			}
			if list := tb.notices(); len(list) != 1 || !strings.HasPrefix(list[0], "@arya did not answer: ") {
				t.Errorf("notices: %q", list)
			}
			if n := tb.play(-1, polite); n != 0 {
				t.Errorf("%d turns begin although nobody was called", n)
			}
			tb.post("@gendry and you?", "gendry")
			tb.model.asked = nil
			tb.play(1, polite)
			if said := fmt.Sprint(tb.model.asked[0].Messages); strings.Contains(said, "did not answer") {
				t.Errorf("gendry is shown: %s", said)
			}
			tb.whole(tb.room.ID)
		})
	}
}
