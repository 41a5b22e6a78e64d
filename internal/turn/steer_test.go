package turn_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// steered is a turn in a chat that a person gives texts to while it works: with a model
// server over HTTP that calls a tool twice and then answers.
type steered struct {
	*world
	chat   fika.Conversation
	server *llmtest.Server
	inTool func(n int) // called in the n-th call of the tool
	calls  int
}

func newSteered(t *testing.T) *steered {
	w := &steered{world: newWorld(t)}
	w.server = llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		results, begun := 0, false
		for _, m := range r.Messages {
			if begun = begun || strings.Contains(m.Text, "go"); begun && m.Role == "tool" {
				results++
			}
		}
		if last := r.Messages[len(r.Messages)-1]; last.Role != "tool" && results >= 2 && !strings.Contains(last.Text, "while") {
			return llmtest.Script{llmtest.Text("that as well")}
		}
		if results < 2 {
			return llmtest.Script{llmtest.Call(fmt.Sprintf("c%d", results), "look", "{}")}
		}
		return llmtest.Script{llmtest.Text("done")}
	})
	w.add("look", fika.Pure, func(context.Context, tool.Call) (tool.Result, error) {
		w.calls++
		if w.inTool != nil {
			w.inTool(w.calls)
		}
		return tool.Result{Text: "seen"}, nil
	})
	var err error
	w.chat, err = w.store.CreateChat(t.Context(), "tale")
	w.ok(err)
	_, err = w.store.Post(t.Context(), store.Post{Conversation: w.chat.ID, From: "ann", Writer: fika.ByHuman, Content: "@arya go", Notify: []fika.AgentName{"arya"}})
	w.ok(err)
	return w
}

func (w *steered) config() turn.Config {
	cfg := w.world.config()
	cfg.Model = openai.New(openai.Options{Model: "m", BaseURL: w.server.URL()})
	return cfg
}

// steer gives a text to arya; it waits for arya's turn.
func (w *steered) steer(text string) *store.Input {
	w.Helper()
	p, err := w.store.Post(w.Context(), store.Post{
		Conversation: w.chat.ID, From: "ann", Writer: fika.ByHuman, Content: text, Notify: []fika.AgentName{"arya"}, Steer: true,
	})
	w.ok(err)
	if p.Input == nil {
		w.Fatalf("%q was posted", text)
	}
	return p.Input
}

// prompts returns the texts of each request that the model server got.
func (w *steered) prompts() (out []string) {
	for _, r := range w.server.Requests() {
		var said []string
		for _, m := range r.Messages {
			if m.Role != "system" {
				said = append(said, strings.TrimSpace(string(m.Role)+" "+m.Text))
			}
		}
		out = append(out, strings.Join(said, " | "))
	}
	return out
}

// TestSteer: what a person says while a tool runs is in the model's next request, behind the
// tool's result; what was taken back is in none, and what came during the last answer
// begins a turn of its own. The next turn shows it all where it was said. Trial row U12.
func TestSteer(t *testing.T) {
	w := newSteered(t)
	w.inTool = func(n int) {
		if n == 1 {
			w.steer("@arya not like this")
			back := w.steer("@arya forget it")
			_, err := w.store.WithdrawInput(t.Context(), back.ID)
			w.ok(err)
		}
	}
	cfg := w.config()
	late := false
	cfg.Observer = turn.ObserverFunc(func(e turn.Event) {
		if e.Kind == turn.Text && !late {
			late = true
			w.steer("@arya and then that")
		}
	})
	res, err := turn.New(cfg).Run(t.Context(), w.claim())
	w.ok(err)
	if res.State != fika.Done || !slices.Equal(res.Notified, []fika.AgentName{"arya"}) {
		t.Fatalf("%+v", res)
	}
	res, err = turn.New(w.config()).Run(t.Context(), w.claim())
	w.ok(err)
	want := []string{
		"user [ann] @arya go",
		"user [ann] @arya go | assistant | tool seen | user [ann] @arya not like this",
		"user [ann] @arya go | assistant | tool seen | user [ann] @arya not like this | assistant | tool seen",
		"user [ann] @arya go | assistant | tool seen | user [ann] @arya not like this | assistant | tool seen | assistant done | user [ann] @arya and then that",
	}
	if got := w.prompts(); !slices.Equal(got, want) || res.Outcome.Answer != "that as well" {
		t.Errorf("%q: %s", res.Outcome.Answer, strings.Join(got, "\n"))
	}
	w.whole(w.chat.ID)
}

// TestSteerOutlivesCrashes: whatever operation on the store a process dies at, each text that
// was given while it worked is in the transcript once, one that was taken back never, and
// the model has read it when the work is over.
func TestSteerOutlivesCrashes(t *testing.T) {
	for k := 1; ; k++ {
		survived := true
		for _, after := range []bool{false, true} {
			w := newSteered(t)
			given := false
			w.inTool = func(int) {
				if given {
					return
				}
				given = true
				w.steer("@arya one while")
				back := w.steer("@arya withdrawn while")
				_, err := w.store.WithdrawInput(t.Context(), back.ID)
				w.ok(err)
				w.steer("@arya two while")
			}
			d := &death{left: k, after: after}
			cfg := w.config()
			cfg.Store = turn.StoreOf(d.store(w.store))
			_, err := turn.New(cfg).Run(t.Context(), w.claim())
			if d.died() {
				survived = false
				w.takeOver()
				rec, err := w.store.Recover(t.Context(), w.lease)
				w.ok(err)
				for _, c := range rec.Claimed {
					_, err := turn.New(w.config()).Run(t.Context(), c)
					w.ok(err)
				}
			} else {
				w.ok(err)
			}
			for { // what was posted when the turn ended
				c, err := w.store.Claim(t.Context(), w.lease, store.Limits{}, nil)
				w.ok(err)
				if c == nil {
					break
				}
				_, err = turn.New(w.config()).Run(t.Context(), *c)
				w.ok(err)
			}
			count := map[string]int{}
			for _, e := range w.entries(w.chat.ID) {
				count[e.Content]++
			}
			asked := strings.Join(w.prompts(), "\n")
			for text, want := range map[string]int{"@arya one while": 1, "@arya two while": 1, "@arya withdrawn while": 0} {
				if count[text] != want || want == 1 != strings.Contains(asked, text) {
					t.Errorf("death at %d (after: %t): %q is %d times there, asked: %s", k, after, text, count[text], asked)
				}
			}
			w.whole(w.chat.ID)
			if t.Failed() {
				return
			}
		}
		if survived {
			t.Logf("%d operations", k-1)
			return
		}
	}
}
