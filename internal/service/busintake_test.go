package service_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/hub"
	"fika/internal/report/outcome"
	"fika/internal/service"
)

// door is a bus whose messages are handed over one by one.
type door struct {
	*testing.T
	*service.Service
	intake *service.BusIntake
}

func openDoor(t *testing.T, settings string, own bool) *door {
	t.Helper()
	c := openWith(t, settings).As(api.Principal{Kind: api.System, Name: "hub", Door: api.DoorHub})
	for _, name := range []string{"coder", "tester"} {
		_, err := c.Agents.Find(t.Context(), name)
		check(t, err)
	}
	return &door{t, c, c.BusIntake(own)}
}

const twoAgents = "\n[[agents]]\nid = \"coder\"\n[[agents]]\nid = \"tester\"\n"

// take hands a request over; its body has what is not said here.
func (d *door) take(member, agent string, r message.Request) (hub.Taken, error) {
	d.Helper()
	r.Type, r.Prompt = cmp.Or(r.Type, message.TypeTask), cmp.Or(r.Prompt, "x")
	data, err := json.Marshal(r)
	check(d.T, err)
	return d.intake.Take(d.Context(), hub.Incoming{Member: member, Agent: fika.AgentName(agent), Request: r, Bytes: len(data)})
}

// rows returns the requests of an agent.
func (d *door) rows(agent string) []service.RequestInfo {
	d.Helper()
	row, err := d.Agents.Find(d.Context(), agent)
	check(d.T, err)
	list, err := d.Requests.List(d.Context(), service.RequestFilter{Agent: row.ID})
	check(d.T, err)
	return list
}

// TestD3ForeignRights: what a request from the bus may have done, by who sent it and
// whose server it came by.
func TestD3ForeignRights(t *testing.T) {
	const settings = twoAgents + "[[agents]]\nid = \"shy\"\ncallable_by = [\"coder\"]\n" +
		"[[bus_members]]\nname = \"build\"\n[[bus_members]]\nname = \"whole\"\ntools = [\"*\"]\n[[bus_members]]\nname = \"some\"\ntools = [\"bash\"]\nnetwork = \"on\"\nagents = [\"coder\"]\n"
	for own, cases := range map[bool][]struct {
		member, to string
		want       string // tools; "all", "denied"
		network    bool
	}{
		true: {
			{"", "coder", "all", false},
			{"build", "coder", "read list", false},
			{"whole", "coder", "all", false},
			{"some", "coder", "bash", true},
			{"some", "tester", "denied", false},
			{"gone", "coder", "denied", false},
			{"whole", "shy", "denied", false},
			{"", "shy", "denied", false},
		},
		false: {{"", "coder", "read list", false}},
	} {
		d := openDoor(t, settings, own)
		if _, err := d.Agents.Find(t.Context(), "shy"); err != nil {
			t.Fatal(err)
		}
		for i, tt := range cases {
			id := fmt.Sprint("r-", i)
			taken, err := d.take(tt.member, tt.to, message.Request{RequestID: id})
			got := "all"
			switch {
			case fika.IsKind(err, fika.Denied):
				got = "denied"
			case err != nil:
				got = err.Error()
			default:
				r, err := d.Requests.Request(t.Context(), taken.Request.ID)
				check(t, err)
				if r.Taint != "bus" {
					t.Errorf("%+v: taint %q", tt, r.Taint)
				}
				if r := r.Rights; r != nil {
					got = strings.Join(r.Tools, " ")
					if r.Network != tt.network || !r.Fixed || r.Sandbox != "best" {
						t.Errorf("%+v: %+v", tt, r)
					}
				}
			}
			if got != tt.want {
				t.Errorf("own %v, %+v: %s", own, tt, got)
			}
		}
	}
}

// TestB4ForeignSender: a program on the bus is not the agent or the member that it says
// it is; what is no name at all is nobody's, and its request is worked.
func TestB4ForeignSender(t *testing.T) {
	d := openDoor(t, twoAgents+"[[bus_members]]\nname = \"build\"\n", true)
	says := func(member, id, sender string) error {
		_, err := d.take(member, "coder", message.Request{RequestID: id, Metadata: message.Metadata{Sender: sender}})
		return err
	}
	for _, name := range []string{"tester", "Tester", "Build"} {
		if err := says("", "r-1", name); !fika.IsKind(err, fika.Denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list := d.rows("coder"); len(list) != 0 {
		t.Errorf("rows: %+v", list)
	}
	for id, sender := range map[string]string{"r-2": "jenkins", "r-3": "build <robot> 7", "r-4": ""} {
		check(t, says("", id, sender))
	}
	check(t, says("build", "r-5", "tester")) // known by its connection
	for _, r := range d.rows("coder") {
		if want := map[fika.RequestID]string{"r-2": "jenkins", "r-3": "build <robot> 7", "r-4": "", "r-5": "build"}[r.ID]; r.Payload.Sender != want {
			t.Errorf("%s is from %q", r.ID, r.Payload.Sender)
		}
	}
	if n := len(d.rows("coder")); n != 4 {
		t.Errorf("%d rows", n)
	}
}

// TestUsedIDOfAnother: an id belongs to who used it first, whatever the body.
func TestUsedIDOfAnother(t *testing.T) {
	d := openDoor(t, twoAgents+"[[bus_members]]\nname = \"build\"\n[[bus_members]]\nname = \"mail\"\n", true)
	first, err := d.take("build", "coder", message.Request{RequestID: "r-1"})
	check(t, err)
	for range 5 {
		again, err := d.take("build", "coder", message.Request{RequestID: "r-1"})
		if err != nil || again.Request.ID != first.Request.ID {
			t.Errorf("again: %+v, %v", again, err)
		}
	}
	for what, f := range map[string]func() (hub.Taken, error){
		"another member": func() (hub.Taken, error) { return d.take("mail", "coder", message.Request{RequestID: "r-1"}) },
		"a program":      func() (hub.Taken, error) { return d.take("", "coder", message.Request{RequestID: "r-1"}) },
		"another body": func() (hub.Taken, error) {
			return d.take("build", "coder", message.Request{RequestID: "r-1", Prompt: "y"})
		},
		"another agent": func() (hub.Taken, error) { return d.take("build", "tester", message.Request{RequestID: "r-1"}) },
		"a team": func() (hub.Taken, error) {
			return d.take("build", message.TeamAgent, message.Request{RequestID: "r-1", Team: "coder, tester"})
		},
	} {
		if _, err := f(); !fika.IsKind(err, fika.Conflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if a, b := len(d.rows("coder")), len(d.rows("tester")); a != 1 || b != 0 {
		t.Errorf("%d and %d rows", a, b)
	}
}

// TestE8ForeignConversations: two agents may be asked under one id, each goes on with its
// own; and nothing is appended to a task.
func TestE8ForeignConversations(t *testing.T) {
	d := openDoor(t, twoAgents, true)
	_, err := d.Chats.Create(t.Context(), "design")
	check(t, err)
	ask := func(agent, id, conversation string) error {
		_, err := d.take("", agent, message.Request{Type: message.TypeAsk, RequestID: id, ConversationID: conversation})
		return err
	}
	for i, conversation := range []string{"Job-7", "job-7", "ask_coder_job-7", "design"} {
		check(t, ask("coder", fmt.Sprint("c", i), conversation))
		check(t, ask("tester", fmt.Sprint("t", i), strings.Replace(conversation, "coder", "tester", 1)))
	}
	for _, agent := range []string{"coder", "tester"} {
		list := d.rows(agent)
		if len(list) != 4 {
			t.Fatalf("%d rows of %s", len(list), agent)
		}
		for _, r := range list {
			want := "ask_" + agent + "_job-7"
			if strings.HasSuffix(string(r.ID), "3") {
				want = "ask_" + agent + "_design"
			}
			if string(r.ConversationName) != want {
				t.Errorf("%s is in %s, not %s", r.ID, r.ConversationName, want)
			}
		}
	}
	r, err := d.Requests.Request(t.Context(), "c0")
	check(t, err)
	var response message.Response
	check(t, json.Unmarshal(outcome.ResponseBody(r, 1<<20), &response))
	if response.Result.ConversationID != "job-7" {
		t.Errorf("the id comes back as %q", response.Result.ConversationID)
	}
	task, err := d.take("", "coder", message.Request{RequestID: "task"})
	check(t, err)
	for id, name := range map[string]string{"own": string(task.Conversation.Name), "other's": "ask_tester_job-7"} {
		if err := ask("coder", id, name); !fika.IsKind(err, fika.Conflict) || !strings.Contains(err.Error(), "conversation") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Row S14: what a member asks is said in conversations of its own, whatever it names: it
// reads nothing that a person has said.
func TestAMemberAsksInConversationsOfItsOwn(t *testing.T) {
	d := openDoor(t, twoAgents+"[[bus_members]]\nname = \"build\"\n[[bus_members]]\nname = \"mail\"\n", true)
	first, err := d.take("", "coder", message.Request{Type: message.TypeAsk, RequestID: "person's"})
	check(t, err)
	own := string(first.Conversation.Name)
	for i, c := range []struct{ member, id, want string }{
		{"build", "", "ask_coder_build"},
		{"mail", "", "ask_coder_mail"},
		{"build", own, "ask_coder_build_" + own},
		{"build", "job-7", "ask_coder_build_job-7"},
		{"build", "build_job-7", "ask_coder_build_job-7"},
		{"build", "ask_coder_build_job-7", "ask_coder_build_job-7"},
		{"build", "ask_coder_mail", "ask_coder_build_ask_coder_mail"},
		{"build", "mail", "ask_coder_build_mail"},
	} {
		taken, err := d.take(c.member, "coder", message.Request{Type: message.TypeAsk, RequestID: fmt.Sprint("m", i), ConversationID: c.id})
		check(t, err)
		if string(taken.Conversation.Name) != c.want || taken.Conversation.ID == first.Conversation.ID {
			t.Errorf("%s asks in %q: %s, not %s", c.member, c.id, taken.Conversation.Name, c.want)
		}
		if sender, err := d.intake.Sender(t.Context(), taken.Request.ID); err != nil || sender != c.member {
			t.Errorf("%s sent it: %v", sender, err)
		}
	}
}

// TestMemberFloodIsRefused: what one member may have unfinished is bounded, by number and
// by size; repeats and other members are still taken (trial row S17).
func TestMemberFloodIsRefused(t *testing.T) {
	d := openDoor(t, twoAgents+"[[bus_members]]\nname = \"build\"\n[[bus_members]]\nname = \"other\"\n", true)
	send := func(member, id, prompt string) error {
		_, err := d.take(member, "coder", message.Request{RequestID: id, Prompt: prompt})
		return err
	}
	for i := range 200 {
		check(t, send("build", fmt.Sprint("r-", i), "x"))
	}
	if err := send("build", "one-more", "x"); !fika.IsKind(err, fika.Limit) || !strings.Contains(err.Error(), "at most 200") {
		t.Errorf("one more: %v", err)
	}
	check(t, send("build", "r-7", "x"))
	for i := range 18 { // so many fit
		check(t, send("other", fmt.Sprint("o-", i), strings.Repeat("x", 900_000)))
	}
	if err := send("other", "o-18", strings.Repeat("x", 900_000)); !fika.IsKind(err, fika.Limit) || !strings.Contains(err.Error(), "of 16 MiB together") {
		t.Errorf("too large: %v", err)
	}
	if n := len(d.rows("coder")); n != 218 {
		t.Errorf("%d requests were accepted", n)
	}
	for i := range 200 {
		_, err := d.Requests.Cancel(t.Context(), fika.RequestID(fmt.Sprint("r-", i)), "")
		check(t, err)
	}
	again := d.BusIntake(true) // a hub that started anew counts anew
	if _, err := again.Take(t.Context(), hub.Incoming{Member: "build", Agent: "coder", Request: message.Request{Type: message.TypeTask, RequestID: "later", Prompt: "x"}}); err != nil {
		t.Error(err)
	}
}

// TestTakenAndWhatKeepsIt: who is asked is told of an agent that was stopped, and a
// repeat of what has ended says so.
func TestTakenAndWhatKeepsIt(t *testing.T) {
	d := openDoor(t, twoAgents, true)
	coder, err := d.Agents.Find(t.Context(), "coder")
	check(t, err)
	_, err = d.As(person).Agents.Stop(t.Context(), coder, fika.DesiredStopped, time.Minute)
	check(t, err)
	taken, err := d.take("", "coder", message.Request{RequestID: "r-1"})
	if err != nil || taken.Ended || !strings.Contains(taken.Waits, "fika agent start coder") {
		t.Errorf("%+v, %v", taken, err)
	}
	_, err = d.Requests.Cancel(t.Context(), "r-1", "")
	check(t, err)
	if taken, err = d.take("", "coder", message.Request{RequestID: "r-1"}); err != nil || !taken.Ended || taken.Waits != "" {
		t.Errorf("ended: %+v, %v", taken, err)
	}
	if _, err := d.take("", "nobody", message.Request{RequestID: "r-2"}); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("nobody: %v", err)
	}
	for team, kind := range map[string]fika.Kind{"coder, tester": "", "coder, ghost": fika.NotFound, "->": fika.Invalid} {
		taken, err := d.take("", message.TeamAgent, message.Request{RequestID: "team-" + string(kind), Team: team})
		if kind == "" && (err != nil || taken.Request.ID == "") || kind != "" && !fika.IsKind(err, kind) {
			t.Errorf("%s: %+v, %v", team, taken, err)
		}
	}
}
