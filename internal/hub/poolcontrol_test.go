package hub

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fika"
	"fika/internal/bus/message"
)

// TestAPoolAnswersControlMessages: what is said to a pool, which has no process, is
// answered by the hub, for as long as there is the pool; on the subject of any other
// agent the hub does not listen.
func TestAPoolAnswersControlMessages(t *testing.T) {
	w := newWorld(t)
	pool := Spec{Name: "coder", Members: []fika.AgentName{"coder-1", "coder-2"}}
	members := []Spec{{Name: "coder-1", Wake: true}, {Name: "coder-2", Wake: true}}
	var dissolved, changed atomic.Bool
	w.runWith(func(o *Options) {
		o.PoolControl = func(_ context.Context, names []fika.AgentName, c message.Control) error {
			if !slices.Equal(names, pool.Members) || c.Action != "shutdown" {
				return fika.Errorf(fika.Invalid, "", "not %s", c.Action)
			}
			return nil
		}
		o.Reload = func(context.Context) ([]Spec, bool) { return members, dissolved.Load() && !changed.Swap(true) }
	}, append(members, pool)...)
	ask := func(name fika.AgentName, body string) (message.ControlReply, error) {
		var reply message.ControlReply
		// What reaches the hub while it stops listening is never answered.
		ctx, cancel := context.WithTimeout(t.Context(), patience/100)
		defer cancel()
		data, err := w.bus.Request(ctx, w.hub.opts.Subjects.Control(name), []byte(body))
		if err == nil {
			err = json.Unmarshal(data, &reply)
		}
		return reply, err
	}
	w.until("the pool to be heard", func() bool { _, err := ask("coder", `{"action": "shutdown"}`); return err == nil })
	for body, wrong := range map[string]string{`{"action": "shutdown"}`: "", `{"action": "reset"}`: "not reset", `{`: "not the JSON"} {
		reply, err := ask("coder", body)
		if err != nil || reply.OK != (wrong == "") || !strings.Contains(reply.Error, wrong) {
			t.Errorf("%s: %+v, %v", body, reply, err)
		}
	}
	if _, err := ask("coder-1", `{"action": "shutdown"}`); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("a member that does not run: %v", err)
	}
	dissolved.Store(true)
	w.until("nobody to answer for a pool that is gone", func() bool {
		_, err := ask("coder", `{"action": "shutdown"}`)
		return fika.IsKind(err, fika.NotFound)
	})
}
