package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
)

// intake is a hub that is handed messages one by one, and what it says of them.
type intake struct {
	early *bus.Msg // said on another subject than was waited for
	*world
	hub     *Hub
	decides *accepting
	said    chan bus.Msg // responses, statuses and dead letters
}

// accepting accepts what it is given, but for what it is told to refuse.
type accepting struct {
	store   *store.Store
	members []string
	waits   string
	err     error
}

func (a *accepting) Take(ctx context.Context, in Incoming) (Taken, error) {
	if a.err != nil {
		return Taken{}, a.err
	}
	row, err := a.store.Agent(ctx, in.Agent)
	if err != nil {
		return Taken{}, err
	}
	n := store.NewRequest{ID: fika.RequestID(in.Request.RequestID), Kind: fika.AskRequest, Agent: row.ID, Payload: fika.Payload{Prompt: in.Request.Prompt, Sender: in.Member}}
	if in.Request.Type == message.TypeTask {
		n.Kind = fika.TaskRequest
	}
	got, err := a.store.Accept(ctx, n)
	return Taken{Request: got.Request, Conversation: got.Conversation, Ended: got.Repeat && got.Request.State.Terminal(), Waits: a.waits}, err
}

func (a *accepting) Members() []string { return a.members }

func (a *accepting) Sender(ctx context.Context, id fika.RequestID) (string, error) {
	r, err := a.store.Request(ctx, id)
	return r.Payload.Sender, err
}

func (*accepting) ReadContext(context.Context, fika.AgentName, fika.AgentName, message.ContextRequest, *message.ContextResponse) error {
	return nil
}

func newIntake(t *testing.T) *intake {
	t.Helper()
	w := newWorld(t)
	in := &intake{world: w, decides: &accepting{store: w.store}, said: make(chan bus.Msg, 100)}
	peer := w.bus.Peer()
	for _, subject := range []string{"fika.agent.*.response", "fika.agent.*.status", "fika.dead"} {
		sub, err := peer.Subscribe(subject, func(m bus.Msg) { in.said <- m })
		w.ok(err)
		t.Cleanup(func() { w.ok(sub.Close()) })
	}
	in.hub = New(Options{Store: StoreOf(w.store), Bus: w.bus, Subjects: bus.Subjects{Prefix: "fika"}, Processes: w.procs, Log: slog.New(slog.DiscardHandler), Intake: in.decides})
	return in
}

func (in *intake) give(agent, body string) {
	in.Helper()
	in.ok(in.hub.intake.handleRequest(in.Context(), bus.Msg{Subject: "fika.agent." + agent + ".request", Data: []byte(body)}))
}

// response is the next response of an agent.
func (in *intake) response(agent string) message.Response {
	in.Helper()
	var r message.Response
	in.ok(json.Unmarshal(in.next("fika.agent."+agent+".response").Data, &r))
	return r
}

// dead is the next dead letter.
func (in *intake) dead() message.Dead {
	in.Helper()
	var d message.Dead
	in.ok(json.Unmarshal(in.next("fika.dead").Data, &d))
	return d
}

// next is the next thing said on a subject. A response and a dead letter about
// one message come by two subscriptions, in any order: one that comes too early
// is kept.
func (in *intake) next(subject string) bus.Msg {
	in.Helper()
	if m := in.early; m != nil && m.Subject == subject {
		in.early = nil
		return *m
	}
	m := <-in.said
	if m.Subject != subject && in.early == nil {
		early := m
		in.early, m = &early, <-in.said
	}
	if m.Subject != subject {
		in.Fatalf("%s, not %s: %s", m.Subject, subject, m.Data)
	}
	return m
}

func (in *intake) rows(a fika.Agent) []store.RequestInfo {
	in.Helper()
	list, err := in.store.ListRequests(in.Context(), store.RequestFilter{Agent: a.ID})
	in.ok(err)
	return list
}

// TestHandleRequest: what arrives becomes a row, an answer, or a parked message;
// only trouble with the store leaves it in the stream.
func TestHandleRequest(t *testing.T) {
	in := newIntake(t)
	a := in.agent("coder")
	task := `{"type":"task_request","requestId":"r-1","prompt":"x"}`
	for range 2 {
		in.give("coder", task)
	}
	if list := in.rows(a); len(list) != 1 || list[0].ID != "r-1" || list[0].Kind != fika.TaskRequest {
		t.Errorf("rows: %+v", list)
	}
	_, err := in.store.Cancel(t.Context(), "r-1", "")
	in.ok(err)
	in.give("coder", task)
	if r := in.response("coder"); r.RequestID != "r-1" || r.Type != message.TypeResponse || r.Status != "cancelled" {
		t.Errorf("repeat of finished work: %+v", r)
	}
	in.give("coder", "")
	in.dead()
	in.give("-", task)
	in.dead()
	in.give("nobody", `{"type":"task_request","requestId":"r-0","prompt":"x"}`)
	if r := in.response("nobody"); r.Status != "failed" {
		t.Errorf("nobody's: %+v", r)
	}
	in.dead()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := in.hub.intake.handleRequest(ended, bus.Msg{Subject: "fika.agent.coder.request", Data: []byte(`{"type":"task_request","requestId":"r-2","prompt":"x"}`)}); err == nil {
		t.Error("a store that does not answer lost a message")
	}
}

// TestC2UsedID: a message that uses the id of work that runs is rejected and
// parked; nobody who waits for that work is told that it failed.
func TestC2UsedID(t *testing.T) {
	in := newIntake(t)
	in.agent("coder")
	in.agent("tester")
	in.give("coder", `{"type":"task_request","requestId":"r-1","prompt":"x"}`)
	for name, m := range map[string][2]string{
		"another body":  {"coder", `{"type":"task_request","requestId":"r-1","prompt":"y"}`},
		"another kind":  {"coder", `{"type":"ask_request","requestId":"r-1","prompt":"x"}`},
		"another agent": {"tester", `{"type":"task_request","requestId":"r-1","prompt":"x"}`},
		"nobody":        {"nobody", `{"type":"task_request","requestId":"r-1","prompt":"x"}`},
		"no prompt":     {"coder", `{"type":"task_request","requestId":"r-1"}`},
		"odd types":     {"coder", `{"type":7,"requestId":"r-1"}`},
	} {
		in.give(m[0], m[1])
		r := in.response(m[0])
		if r.RequestID != "r-1" || r.Type != message.TypeRejected || r.Status != message.TypeRejected || !strings.Contains(r.Error, "r-1 is taken by another request, of @coder") {
			t.Errorf("%s: %+v", name, r)
		}
		if d := in.dead(); !strings.Contains(d.Reason, "r-1") || d.Body != m[1] {
			t.Errorf("%s: %+v", name, d)
		}
	}
	r, err := in.store.Request(t.Context(), "r-1")
	in.ok(err)
	if r.State != fika.Open || r.Payload.Prompt != "x" {
		t.Errorf("the first one is %+v", r)
	}
}

// TestC7WaitsAndWhy: a request for an agent that will not come by itself says so.
func TestC7WaitsAndWhy(t *testing.T) {
	in := newIntake(t)
	in.agent("coder")
	in.give("coder", `{"type":"task_request","requestId":"r-1","prompt":"x"}`)
	in.decides.waits = "stopped by hand"
	in.give("coder", `{"type":"task_request","requestId":"r-2","prompt":"x"}`)
	m := <-in.said
	var s message.Status
	in.ok(json.Unmarshal(m.Data, &s))
	if m.Subject != "fika.agent.coder.status" || s.RequestID != "r-2" || s.Status != message.StatusWaiting || s.Data.Message != "stopped by hand" {
		t.Errorf("%s: %+v", m.Subject, s)
	}
}

// TestRefusals: what is refused for good is answered and parked; what is refused for now
// is answered alone, and anything else is taken again.
func TestRefusals(t *testing.T) {
	in := newIntake(t)
	a := in.agent("coder")
	const body = `{"type":"task_request","requestId":"r-1","prompt":"x"}`
	for _, kind := range []fika.Kind{fika.Conflict, fika.Invalid, fika.NotFound, fika.Denied} {
		in.decides.err = fika.Errorf(kind, "", "not you")
		in.give("coder", body)
		if r := in.response("coder"); r.RequestID != "r-1" || r.Type != message.TypeResponse || r.Status != "failed" || !strings.Contains(r.Error, "not you") {
			t.Errorf("%s: %+v", kind, r)
		}
		if d := in.dead(); d.Body != body {
			t.Errorf("%s: %+v", kind, d)
		}
	}
	in.decides.err = fika.Errorf(fika.Limit, "", "too much")
	in.give("coder", body)
	if r := in.response("coder"); r.Status != "failed" || !strings.Contains(r.Error, "too much") {
		t.Errorf("limit: %+v", r)
	}
	in.decides.err = fika.Errorf(fika.Storage, "", "disk")
	if err := in.hub.intake.handleRequest(t.Context(), bus.Msg{Subject: "fika.agent.coder.request", Data: []byte(body)}); !fika.IsKind(err, fika.Storage) {
		t.Errorf("a store that does not answer: %v", err)
	}
	if len(in.said) > 0 || len(in.rows(a)) > 0 {
		t.Errorf("%d more were said, %d rows", len(in.said), len(in.rows(a)))
	}
}

// Row S14: only its own work reaches a member.
func TestAMemberHearsOfItsOwnWork(t *testing.T) {
	in := newIntake(t)
	in.decides.members = []string{"build", "mail"}
	in.agent("coder")
	for id, member := range map[string]string{"m0": "build", "m1": "mail", "other": ""} {
		body := `{"type":"task_request","requestId":"` + id + `","prompt":"x"}`
		in.ok(in.hub.intake.handleRequest(t.Context(), bus.Msg{Subject: "fika.agent.coder.request", Member: member, Data: []byte(body)}))
	}
	feed := in.hub.feed
	heard := make(chan string, 10)
	sub, err := in.bus.Peer().Subscribe("fika.member.>", func(m bus.Msg) { heard <- m.Subject + " " + string(m.Data) })
	in.ok(err)
	defer func() { in.ok(sub.Close()) }()
	for _, id := range []string{"other", "m0", "m1"} {
		data := []byte(fmt.Sprintf(`{"type":"status","requestId":%q}`, id))
		feed.passStatus(bus.Msg{Subject: "fika.agent.coder.status", Data: data})
	}
	feed.passResponse(bus.Msg{Subject: "fika.agent.coder.response", Data: []byte(`{"type":"rejected","requestId":"m0"}`)})
	feed.passResponse(bus.Msg{Subject: "fika.agent.coder.response", Data: []byte(`{"type":"response","requestId":"m0"}`)})
	for _, want := range []string{
		`fika.member.build.agent.coder.status {"type":"status","requestId":"m0"}`,
		`fika.member.mail.agent.coder.status {"type":"status","requestId":"m1"}`,
		`fika.member.build.agent.coder.response {"type":"response","requestId":"m0"}`,
	} {
		if got := <-heard; got != want {
			t.Errorf("heard %s, not %s", got, want)
		}
	}
}
