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
	"fika/internal/caller"
	"fika/internal/message"
	"fika/internal/store"
)

// intake is a hub that is handed messages one by one, and what it says of them.
type intake struct {
	early *bus.Msg // said on another subject than was waited for
	*world
	hub  *Hub
	said chan bus.Msg // responses, statuses and dead letters
}

func newIntake(t *testing.T, change func(*Options)) *intake {
	t.Helper()
	w := newWorld(t)
	in := &intake{world: w, said: make(chan bus.Msg, 100)}
	peer := w.bus.Peer()
	for _, subject := range []string{"fika.agent.*.response", "fika.agent.*.status", "fika.dead"} {
		sub, err := peer.Subscribe(subject, func(m bus.Msg) { in.said <- m })
		w.ok(err)
		t.Cleanup(func() { w.ok(sub.Close()) })
	}
	o := Options{Store: StoreOf(w.store), Bus: w.bus, Subjects: bus.Subjects{Prefix: "fika"}, Processes: w.procs, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	in.hub = New(o)
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
	in := newIntake(t, nil)
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
	in := newIntake(t, nil)
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

// TestE8ForeignConversations: two agents may be asked under one id, each goes
// on with its own; and nothing is appended to a task.
func TestE8ForeignConversations(t *testing.T) {
	in := newIntake(t, nil)
	coder, tester := in.agent("coder"), in.agent("tester")
	_, err := in.store.CreateChat(t.Context(), "design")
	in.ok(err)
	ask := func(agent, id, conversation string) {
		t.Helper()
		in.give(agent, fmt.Sprintf(`{"type":"ask_request","requestId":%q,"prompt":"x","conversationId":%q}`, id, conversation))
	}
	for i, conversation := range []string{"Job-7", "job-7", "ask_coder_job-7", "design"} {
		ask("coder", fmt.Sprint("c", i), conversation)
		ask("tester", fmt.Sprint("t", i), strings.Replace(conversation, "coder", "tester", 1))
	}
	for _, a := range []fika.Agent{coder, tester} {
		list := in.rows(a)
		if len(list) != 4 {
			t.Fatalf("%d rows of %s", len(list), a.Name)
		}
		for _, r := range list {
			want := "ask_" + a.Name + "_job-7"
			if strings.HasSuffix(string(r.ID), "3") {
				want = "ask_" + a.Name + "_design"
			}
			if r.ConversationName != fika.ConversationName(want) {
				t.Errorf("%s is in %s, not %s", r.ID, r.ConversationName, want)
			}
		}
	}
	_, err = in.store.Cancel(t.Context(), "c0", "")
	in.ok(err)
	ask("coder", "c0", "Job-7")
	if r := in.response("coder"); r.Result.ConversationID != "job-7" {
		t.Errorf("the id comes back as %q", r.Result.ConversationID)
	}

	task, err := in.store.Accept(t.Context(), store.NewRequest{ID: "task", Kind: fika.TaskRequest, Agent: coder.ID, Payload: fika.Payload{Prompt: "x"}})
	in.ok(err)
	_, err = in.store.Cancel(t.Context(), "task", "")
	in.ok(err)
	for id, c := range map[string]string{"own": string(task.Conversation.Name), "other's": "ask_tester_job-7"} {
		ask("coder", id, c)
		if r := in.response("coder"); r.Type != message.TypeResponse || r.Status != "failed" || !strings.Contains(r.Error, "conversation") {
			t.Errorf("%s: %+v", id, r)
		}
		in.dead()
	}
}

// TestC7WaitsAndWhy: a request for an agent that will not come by itself says so.
func TestC7WaitsAndWhy(t *testing.T) {
	in := newIntake(t, func(o *Options) {
		o.WhyWaiting = func(_ context.Context, a fika.Agent) string {
			if a.Desired.Stopped() {
				return "stopped by hand"
			}
			return ""
		}
	})
	a := in.agent("coder")
	in.give("coder", `{"type":"task_request","requestId":"r-1","prompt":"x"}`)
	in.ok(in.store.SetDesired(t.Context(), a.ID, fika.DesiredStopped))
	in.give("coder", `{"type":"task_request","requestId":"r-2","prompt":"x"}`)
	m := <-in.said
	var s message.Status
	in.ok(json.Unmarshal(m.Data, &s))
	if m.Subject != "fika.agent.coder.status" || s.RequestID != "r-2" || s.Status != message.StatusWaiting || s.Data.Message != "stopped by hand" {
		t.Errorf("%s: %+v", m.Subject, s)
	}
}

// TestB4ForeignSender: a program on the bus is not the agent it says it is; what
// is no name at all is nobody's, and its request is worked.
func TestB4ForeignSender(t *testing.T) {
	in := newIntake(t, func(o *Options) {
		o.MayBeCalled = func(_ context.Context, name string) error {
			return caller.PersonName(name, func(n fika.AgentName) (bool, error) { return n == "gendry", nil })
		}
	})
	a := in.agent("coder")
	for _, name := range []string{"gendry", "Gendry"} {
		in.give("coder", `{"type":"task_request","requestId":"r-1","prompt":"x","metadata":{"sender":"`+name+`"}}`)
		if r := in.response("coder"); r.RequestID != "r-1" || r.Status != "failed" || !strings.Contains(r.Error, "is the name of an agent") {
			t.Errorf("%s: %+v", name, r)
		}
		in.dead()
	}
	if list := in.rows(a); len(list) != 0 {
		t.Errorf("rows: %+v", list)
	}
	for id, sender := range map[string]string{"r-2": "jenkins", "r-3": "build <robot> 7", "r-4": ""} {
		in.give("coder", `{"type":"task_request","requestId":"`+id+`","prompt":"x","metadata":{"sender":"`+sender+`"}}`)
	}
	if list := in.rows(a); len(list) != 3 {
		t.Errorf("rows: %+v", list)
	}
}

// TestD3Member: a member has the rights that it was given, whatever it says of
// itself, and is told which agents are not for it.
func TestD3Member(t *testing.T) {
	given := &fika.Rights{Tools: []string{"read"}, Fixed: true}
	in := newIntake(t, func(o *Options) {
		o.Foreign = func(member string, to fika.AgentName) (*fika.Rights, error) {
			switch {
			case member == "":
				return nil, nil
			case to == "tester":
				return nil, fika.Errorf(fika.Denied, "", "%s may not ask @tester", member)
			}
			return given, nil
		}
	})
	coder, tester := in.agent("coder"), in.agent("tester")
	as := func(member, agent, id string) {
		t.Helper()
		body := `{"type":"task_request","requestId":"` + id + `","prompt":"x","metadata":{"sender":"coder"}}`
		in.ok(in.hub.intake.handleRequest(in.Context(), bus.Msg{Subject: "fika.agent." + agent + ".request", Member: member, Data: []byte(body)}))
	}
	as("build", "coder", "r-1")
	list := in.rows(coder)
	if len(list) != 1 || list[0].Payload.Sender != "build" || list[0].Payload.From != "build" || list[0].Rights == nil || !list[0].Rights.Fixed {
		t.Errorf("rows: %+v", list)
	}
	as("build", "tester", "r-2")
	if r := in.response("tester"); r.RequestID != "r-2" || r.Status != "failed" || !strings.Contains(r.Error, "build may not ask @tester") {
		t.Errorf("another's: %+v", r)
	}
	if list := in.rows(tester); len(list) != 0 {
		t.Errorf("rows: %+v", list)
	}
}

// Row S14: what a member asks is said in conversations of its own, whatever it names: it
// reads nothing that a person has said. Only its own work reaches it.
func TestAMemberAsksInConversationsOfItsOwn(t *testing.T) {
	in := newIntake(t, func(o *Options) {
		o.Members = func() []string { return []string{"build", "mail"} }
		o.Foreign = func(string, fika.AgentName) (*fika.Rights, error) { return nil, nil }
	})
	coder := in.agent("coder")
	own, err := in.store.ActiveAsk(t.Context(), coder.ID)
	in.ok(err)
	for i, c := range []struct{ member, id, want string }{
		{"build", "", "ask_coder_build"},
		{"mail", "", "ask_coder_mail"},
		{"build", string(own.Name), "ask_coder_build_" + string(own.Name)},
		{"build", "job-7", "ask_coder_build_job-7"},
		{"build", "build_job-7", "ask_coder_build_job-7"},
		{"build", "ask_coder_build_job-7", "ask_coder_build_job-7"},
		{"build", "ask_coder_mail", "ask_coder_build_ask_coder_mail"},
		{"build", "mail", "ask_coder_build_mail"},
	} {
		id := fmt.Sprintf("m%d", i)
		body := fmt.Sprintf(`{"type":"ask_request","requestId":%q,"prompt":"x","conversationId":%q}`, id, c.id)
		if c.id == "" {
			body = fmt.Sprintf(`{"type":"ask_request","requestId":%q,"prompt":"x"}`, id)
		}
		in.ok(in.hub.intake.handleRequest(t.Context(), bus.Msg{Subject: "fika.agent.coder.request", Member: c.member, Data: []byte(body)}))
		r, err := in.store.Request(t.Context(), fika.RequestID(id))
		in.ok(err)
		if string(r.ConversationName) != c.want || r.Conversation == own.ID {
			t.Errorf("%s asks in %q: %s, not %s", c.member, c.id, r.ConversationName, c.want)
		}
	}
	in.give("coder", `{"type":"task_request","requestId":"other","prompt":"x"}`)

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
