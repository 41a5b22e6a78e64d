package hub

import (
	"fmt"
	"strings"
	"testing"

	"fika/internal/bus"
)

// TestMemberFloodIsRefused: what one member may have unfinished is bounded, by number and
// by size; repeats and other members are still taken (trial row S17).
func TestMemberFloodIsRefused(t *testing.T) {
	in := newIntake(t, nil)
	coder := in.agent("coder")
	send := func(member, id, prompt string) {
		t.Helper()
		body := `{"type":"task_request","requestId":"` + id + `","prompt":"` + prompt + `"}`
		in.ok(in.hub.intake.handleRequest(in.Context(), bus.Msg{Subject: "fika.agent.coder.request", Member: member, Data: []byte(body)}))
	}
	for i := range maxMemberRequests {
		send("build", fmt.Sprintf("r-%d", i), "x")
	}
	send("build", "one-more", "x")
	if r := in.response("coder"); r.RequestID != "one-more" || r.Status != "failed" || !strings.Contains(r.Error, "at most 200") {
		t.Errorf("one more: %+v", r)
	}
	send("build", "r-7", "x")
	for i := range 19 { // 18 fit
		send("other", fmt.Sprintf("o-%d", i), strings.Repeat("x", 900_000))
	}
	if r := in.response("coder"); r.RequestID != "o-18" || !strings.Contains(r.Error, "of 16 MiB together") {
		t.Errorf("too large: %+v", r)
	}
	if n := len(in.rows(coder)); n != maxMemberRequests+18 {
		t.Errorf("%d requests were accepted", n)
	}
}
