package daemon

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/bus/message"
	busnats "fika/internal/bus/nats"
	"fika/internal/hub"
	"fika/internal/store"
)

// worked stores a task of an agent that is done.
func (h hubHome) worked(t *testing.T, to fika.AgentName, p fika.Payload, answer string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	row, err := h.store.Agent(t.Context(), to)
	must(err)
	_, err = h.store.Accept(t.Context(), store.NewRequest{Kind: fika.TaskRequest, Origin: fika.Queued, Agent: row.ID, Payload: p})
	must(err)
	l, err := h.store.Acquire(t.Context(), row.ID, "test", time.Hour, true)
	must(err)
	c, err := h.store.Claim(t.Context(), l, store.Limits{}, func(fika.RequestID) bool { return false })
	must(err)
	_, err = h.store.Finish(t.Context(), c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: answer}, Outcome: fika.Outcome{Answer: answer}})
	must(err)
	must(h.store.Release(t.Context(), l))
}

// TestE9ContextRequest: whoever may read an agent's context gets it over the
// bus, results of tasks included, and nobody else does.
func TestE9ContextRequest(t *testing.T) {
	asleep := "auto_start = false\nwake = false\n"
	h := homeWith(t, "[[agents]]\nid = \"researcher\"\nreadable_by = [\"coder\"]\n"+asleep+"[[agents]]\nid = \"coder\"\n"+asleep+"[[agents]]\nid = \"tester\"\n"+asleep)
	c, err := h.app.Config()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.specs(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h.worked(t, "researcher", fika.Payload{Prompt: "how to stream?", From: "user", Writer: fika.ByHuman}, "use chunked encoding")
	h.worked(t, "coder", fika.Payload{Prompt: "a secret of researcher", From: "researcher", Writer: fika.ByAgent}, "kept")

	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan hub.Ready, 1), make(chan error, 1)
	go func() { // joined below
		ended <- RunHub(ctx, h.app, HubOptions{Ready: func(r hub.Ready) { ready <- r }})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	subjects, err := h.app.Subjects()
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []struct {
		user, asks string
		of         fika.AgentName
		kind       fika.Kind
		messages   int
		tasks      []string
	}{
		{busnats.AgentUser("coder"), "", "researcher", "", 0, []string{"use chunked encoding"}},
		{busnats.AgentUser("tester"), `{"type":"context_request"}`, "researcher", fika.Denied, 0, nil},
		{busnats.UserMember, `{"last":1}`, "researcher", "", 0, []string{"use chunked encoding"}},
		{busnats.AgentUser("tester"), "", "coder", "", 0, nil}, // given by one who is not for tester to read
		{busnats.AgentUser("researcher"), "", "coder", "", 0, []string{"kept"}},
		{busnats.AgentUser("coder"), `{"find":"chunked"}`, "researcher", "", 1, nil},
		{busnats.AgentUser("tester"), `{"find":"chunked"}`, "researcher", "", 0, nil},
		{busnats.UserMember, "nonsense", "coder", fika.Invalid, 0, nil},
		{busnats.UserMember, "", "nobody", fika.NotFound, 0, nil},
	} {
		got := askContext(t, h.app, who.user, subjects.ContextRequest(who.of), who.asks)
		var results []string
		for _, x := range got.Tasks {
			results = append(results, x.Content)
		}
		if got.Type != message.TypeContextResponse || got.AgentName != string(who.of) || fika.Kind(got.ErrorKind) != who.kind || len(got.Messages) != who.messages || len(results) != len(who.tasks) {
			t.Errorf("%s asks %s %s: got %+v", who.user, who.of, who.asks, got)
			continue
		}
		for i, want := range who.tasks {
			if results[i] != want {
				t.Errorf("%s asks %s: got %q", who.user, who.of, results)
			}
		}
	}
}

func askContext(t *testing.T, a *app.App, user, subject, body string) message.ContextResponse {
	t.Helper()
	var conn bus.Bus
	conn, err := a.Bus(t.Context(), user, false)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	data, err := conn.Request(t.Context(), subject, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var got message.ContextResponse
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	return got
}
