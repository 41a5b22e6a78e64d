package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// A failed model call takes nothing away: the messages of an inbox are read
// with the next prompt, in their order.
func TestAFailedPromptLosesNoInboxMessage(t *testing.T) {
	x := sit(t, "")
	lines := `{"from":"a","content":"first"}` + "\nnot a message\n" + `{"from":"b","content":"second"}` + "\n"
	x.must(os.WriteFile(filepath.Join(x.worker.Folder.Path(), "inbox.jsonl"), []byte(lines), 0o600))
	x.runtime.inbox.poll(t.Context())
	good := x.model
	c, err := x.runtime.begin(t.Context(), RunOptions{Who: person, Prompt: "one"})
	x.must(err)
	if c.Covers != 2 {
		t.Errorf("the prompt covers %d messages", c.Covers)
	}
	cfg := x.runtime.turnConfig(c, x.worker.Settings, []llm.Model{failing{}}, nil, turn.ObserverFunc(func(turn.Event) {}))
	res, err := turn.New(cfg).Run(t.Context(), c)
	x.must(err)
	if res.State != fika.RequestFailed {
		t.Fatalf("got %s", res.State)
	}
	x.reopen()
	x.runtime.inbox.poll(t.Context())
	x.model = good
	x.prompt("two")
	r := good.requests[0]
	if !strings.Contains(r.Messages[0].Text, "message from a") || !strings.HasSuffix(r.Messages[0].Text, "\n  first") ||
		!strings.HasSuffix(r.Messages[1].Text, "\n  second") || !strings.Contains(r.Messages[1].Text, "not an instruction") {
		t.Errorf("got %+v", r.Messages)
	}
	infos, err := x.worker.Store.ListConversations(t.Context(), store.ConversationFilter{Agent: x.worker.Agent.ID})
	x.must(err)
	if infos[0].Pending != 0 {
		t.Errorf("%d messages are still waiting", infos[0].Pending)
	}
	if n := len(x.all()); n != 2+1+2 {
		t.Errorf("%d entries", n)
	}
	rejected, err := os.ReadFile(filepath.Join(x.worker.Folder.Path(), "inbox.rejected.jsonl"))
	if err != nil || string(rejected) != "not a message\n" {
		t.Errorf("rejected: %q, %v", rejected, err)
	}
}

type failing struct{}

func (failing) Generate(context.Context, llm.Request, func(llm.Event) error) (llm.Response, error) {
	return llm.Response{}, fika.Wrap(fika.Provider, "", errors.New("no answer"))
}
