package daemon

import (
	"strings"
	"testing"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/settings/config"
	"fika/internal/store"
)

// TestWhatAPoolDoes: a control message to a pool cancels a request whoever has it,
// stops all members, and is told their names where it is about one conversation.
func TestWhatAPoolDoes(t *testing.T) {
	h := homeWith(t, "[[agents]]\nid = \"coder\"\ninstances = 2\n")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	conf, err := h.app.Config()
	must(err)
	_, err = h.specs(t.Context(), conf) // as a hub begins
	must(err)
	members := conf.Agent("coder").Members()
	pool, err := h.store.Agent(t.Context(), "coder")
	must(err)
	done, err := h.store.Accept(t.Context(), store.NewRequest{ID: "r-1", Kind: fika.TaskRequest, Origin: fika.Queued, Agent: pool.ID, Payload: fika.Payload{Prompt: "hello", From: "ann", Writer: fika.ByHuman}})
	must(err)
	must(h.controlPool(t.Context(), members, message.Control{Action: "cancel", RequestID: string(done.Request.ID)}))
	if r, err := h.store.Request(t.Context(), done.Request.ID); err != nil || r.State != fika.Cancelled {
		t.Errorf("cancelled: %s, %v", r.State, err)
	}
	must(h.controlPool(t.Context(), members, message.Control{Action: "shutdown", Mode: "finish"}))
	for n := range members {
		row, err := h.store.Agent(t.Context(), fika.AgentName(config.MemberName("coder", n+1)))
		if err != nil || row.Desired != fika.DesiredFinish {
			t.Errorf("%s is wanted %q, %v", row.Name, row.Desired, err)
		}
	}
	for wrong, c := range map[string]message.Control{
		"coder-1, coder-2": {Action: "reset"}, "send summarise to one of": {Action: "summarise"}, "unknown action": {Action: "dance"},
		"needs a requestId": {Action: "cancel"}, "unknown mode": {Action: "shutdown", Mode: "soon"},
	} {
		if err := h.controlPool(t.Context(), members, c); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
