package request

import (
	"strings"
	"testing"

	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

// TestWaitIsToldOnce: what a request waits for is told by its agent on the bus, and
// by who looks at the store; a person reads it once, whichever comes first.
func TestWaitIsToldOnce(t *testing.T) {
	const why = "waits for your approval of a tool call: fika approve"
	var errs term.Buffer
	v := NewFollowView(&command.Env{Streams: &term.Streams{Out: &term.Buffer{}, Err: &errs}}, false, false)
	follow := &service.Follow{}
	v.Begin(follow, "r", "coder")
	for range 2 {
		follow.Waits(api.Stands(api.WaitingApproval, "agent", "coder"))
		v.Show(message.Status{RequestID: "r", AgentName: "coder", Status: "processing", Data: message.StatusData{Message: why}})
	}
	if n := strings.Count(errs.String(), why); n != 1 {
		t.Errorf("it was told %d times:\n%s", n, errs.String())
	}
}
