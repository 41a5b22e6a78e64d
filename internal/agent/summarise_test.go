package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
)

// A summary is written while a turn runs, and one that is being written ends with
// the process.
func TestASummaryDoesNotWaitForTurns(t *testing.T) {
	begun, end := make(chan string, maxSummaries), make(chan struct{})
	w := newWorld(t, func(o *Options) {
		o.Summarise = func(ctx context.Context, c message.Control) (message.Summarised, error) {
			begun <- c.Model
			select {
			case <-end:
				return message.Summarised{Summary: "by " + c.Model, Entries: 3}, nil
			case <-ctx.Done():
				return message.Summarised{}, fika.Wrap(fika.Interrupted, "", ctx.Err())
			}
		}
	})
	stop := w.run()
	w.ask("a")
	turn := w.next()
	answers := make(chan message.ControlReply, 10)
	summarise := func(model string) {
		body, _ := json.Marshal(message.Control{Action: "summarise", Model: model})
		w.p.handleControl(bus.Msg{Data: body, Respond: func(data []byte) error {
			var r message.ControlReply
			w.ok(json.Unmarshal(data, &r))
			answers <- r
			return nil
		}})
	}
	summarise("m")
	<-begun
	end <- struct{}{}
	if r := <-answers; !r.OK || !strings.Contains(string(r.Data), `"summary":"by m","entries":3`) {
		t.Errorf("while a turn runs: %+v", r)
	}
	for range maxSummaries {
		summarise("n")
	}
	for range maxSummaries {
		<-begun
	}
	summarise("one too many")
	if r := <-answers; r.OK || r.ErrorKind != string(fika.Locked) {
		t.Errorf("more than are written at once: %+v", r)
	}
	turn.end <- fika.Done
	w.ok(stop())
	for range maxSummaries {
		if r := <-answers; r.OK || r.ErrorKind != string(fika.Interrupted) {
			t.Errorf("at the end of the process: %+v", r)
		}
	}
}
