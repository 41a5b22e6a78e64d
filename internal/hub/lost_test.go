package hub

import (
	"testing"
	"time"

	"fika"
	"fika/internal/bus"
)

// TestD12LostRequest: who sent a request that was accepted and is lost is told
// so; one that is a row is not called lost.
func TestD12LostRequest(t *testing.T) {
	in := newIntake(t)
	in.agent("coder")
	lost := func(id string) error {
		return in.hub.intake.handleRequest(t.Context(), bus.Msg{Subject: "fika.agent.coder.request", Lost: &bus.Lost{ID: id, Accepted: time.Now()}})
	}
	in.ok(lost("r-1"))
	if r := in.response("coder"); r.RequestID != "r-1" || r.Status != "failed" || r.Type != "response" || r.Error == "" {
		t.Errorf("%+v", r)
	}
	in.ok(lost(""))
	in.give("coder", `{"type":"task_request","requestId":"r-1","agentName":"coder","prompt":"again"}`)
	if err := lost("r-1"); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("a request that is a row: %v", err)
	}
}
