package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// TestE10SeveralTurns: of turns that run at once each line is whole and says to
// which it belongs; one alone streams, without a mark.
func TestE10SeveralTurns(t *testing.T) {
	var out bytes.Buffer
	d := NewDisplay(&out)
	claim := func(id fika.RequestID) store.Claimed {
		return store.Claimed{Agent: fika.Agent{Name: "coder"}, Request: fika.Request{ID: id, Kind: fika.TaskRequest, Payload: fika.Payload{Prompt: "do " + string(id)}}}
	}
	a, b := d.Turn(claim("a")), d.Turn(claim("b"))
	say := func(o turn.Observer, text string) { o.Observe(turn.Event{Kind: turn.Text, Text: text}) }
	done := turn.Event{Kind: turn.Ended, Outcome: &turn.Result{State: fika.Done}}
	a.Observe(turn.Event{Kind: turn.Started})
	say(a, "one ")
	b.Observe(turn.Event{Kind: turn.Started})
	say(a, "two\nthr")
	say(b, "uno\ndos")
	say(a, "ee")
	a.Observe(done)
	say(b, " tres\n")
	b.Observe(done)
	want := "[RECEIVED:TASK @coder] do a\n[PROCESSING...]\none \nb [RECEIVED:TASK @coder] do b\nb [PROCESSING...]\n" +
		"a two\nb uno\na three\na [COMPLETED ✓]\ndos tres\n[COMPLETED ✓]\n"
	if out.String() != want {
		t.Errorf("shown\n%s\nwant\n%s", &out, want)
	}
}

// TestE10RefusedCall: a tool call that was refused is shown with its name, here
// and by attach.
func TestE10RefusedCall(t *testing.T) {
	var near, far bytes.Buffer
	o := NewDisplay(&near).Turn(store.Claimed{})
	o.Observe(turn.Event{Kind: turn.ToolDone, Tool: "bash", Result: &tool.Result{Text: "refused: not permitted", IsError: true, Denied: true}})
	var s message.Status
	if err := json.Unmarshal([]byte(`{"status":"tool_result","data":{"toolName":"bash","message":"refused: not permitted","denied":true}}`), &s); err != nil {
		t.Fatal(err)
	}
	NewDisplay(&far).Status(s)
	if near.String() != far.String() || !strings.HasPrefix(near.String(), "[TOOL REFUSED: bash] refused: not permitted") {
		t.Errorf("near %q, far %q", &near, &far)
	}
}
