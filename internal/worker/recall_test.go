package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/turn"
)

// recaller looks into the past before it answers, where it can, and says what it
// was told.
type recaller struct{}

func (recaller) Generate(_ context.Context, r llm.Request, _ func(llm.Event) error) (llm.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == llm.ToolRole {
		return llm.Response{Text: "I was told: " + last.Text}, nil
	}
	for _, t := range r.Tools {
		if t.Name == "recall" {
			args, _ := json.Marshal(map[string]string{"query": last.Text})
			return llm.Response{Calls: []llm.Call{{ID: "c", Name: "recall", Args: string(args)}}}, nil
		}
	}
	seen := r.Messages
	if strings.Contains(seen[0].Text, "CONVERSATION SUMMARY") { // this model summarises by repeating all of it
		seen = seen[1:]
	}
	return llm.Response{Text: "I see: " + fmt.Sprint(seen)}, nil
}

// answerOf gives the answer to a prompt, and its entry.
func (x *table) answerOf(text string) fika.Entry {
	x.Helper()
	c, err := x.runtime.begin(x.Context(), RunOptions{Who: person, Prompt: text})
	x.must(err)
	_, err = turn.New(x.runtime.turnConfig(c, x.worker.Settings, []llm.Model{recaller{}}, nil, turn.ObserverFunc(func(turn.Event) {}))).Run(x.Context(), c)
	x.must(err)
	all := x.all()
	return all[len(all)-1]
}

// plant puts a fact at the beginning of a long past.
func (x *table) plant(fact, taint string) {
	x.Helper()
	_, err := x.worker.Store.Import(x.Context(), x.conv, []fika.Entry{{
		ID: "fact", At: time.Unix(1, 0), From: "user", To: "default", Type: fika.Message, Content: fact, Meta: fika.EntryMeta{Taint: fika.Taint{From: taint}},
	}})
	x.must(err)
	x.fill(500)
}

// A fact that has left the window long ago is answered by an agent that may recall
// it, and by no other.
func TestRecallReachesBeyondTheWindow(t *testing.T) {
	for permissions, want := range map[string]bool{`tool_permissions = ["recall"]`: true, `tool_permissions = ["read"]`: false, "": false} {
		x := sit(t, "context_window_limit = 3000\n"+permissions)
		x.plant("the harbour code is 4711", "")
		got := x.answerOf("what is the code of the harbour?")
		if strings.Contains(got.Content, "4711") != want {
			t.Errorf("%q: %s", permissions, got.Content)
		}
		if got.Meta.Taint.Tainted() {
			t.Errorf("%q: the answer is tainted by %v", permissions, got.Meta.Taint)
		}
	}
}

// What was read from outside then taints the turn that recalls it.
func TestWhatIsRecalledTaints(t *testing.T) {
	x := sit(t, "context_window_limit = 3000\ntool_permissions = [\"recall\"]")
	x.plant("the harbour code is 4711", "fetch example.org")
	got := x.answerOf("what is the code of the harbour?")
	if !strings.Contains(got.Content, "4711") || got.Meta.Taint.From != "fetch example.org" {
		t.Errorf("%s\ntainted by %v", got.Content, got.Meta.Taint)
	}
}
