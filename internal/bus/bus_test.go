package bus

import (
	"context"
	"strings"
	"testing"

	"fika"
)

func TestSubjects(t *testing.T) {
	s := Subjects{Prefix: "niffler"}
	for got, want := range map[string]string{
		s.Request("coder"):   "niffler.agent.coder.request",
		s.Bell("coder"):      "niffler.agent.coder.bell",
		s.Response("coder"):  "niffler.agent.coder.response",
		s.Status("coder"):    "niffler.agent.coder.status",
		s.Heartbeat("coder"): "niffler.agent.coder.heartbeat",
		s.Control("coder"):   "niffler.agent.coder.control",
		s.Chat("room"):       "niffler.chat.room",
		s.Hub():              "niffler.hub.bell",
		s.Dead():             "niffler.dead",
		s.All():              "niffler.>",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAgentOf(t *testing.T) {
	s := Subjects{Prefix: "a.b"}
	for subject, want := range map[string]fika.AgentName{
		"a.b.agent.coder.request":         "coder",
		"a.b.agent.Coder.request":         "coder",
		"a.b.agent.coder.context.request": "coder",
		"a.b.agent.coder":                 "",
		"a.b.agent.coder.":                "",
		"a.b.agent..request":              "",
		"a.b.agent.*.request":             "",
		"a.b.agent.../x.request":          "",
		"a.b.agent.system.request":        "",
		"a.b.chat.coder.request":          "",
		"a.agent.coder.request":           "",
		"":                                "",
	} {
		if got, ok := s.AgentOf(subject); got != want || ok != (want != "") {
			t.Errorf("AgentOf(%q) = %q, %v; want %q", subject, got, ok, want)
		}
	}
}

func FuzzAgentOf(f *testing.F) {
	f.Add("fika", "fika.agent.coder.request")
	f.Add("a.b", "a.b.agent.x.y.z")
	f.Add("", ".agent.A.bell")
	f.Fuzz(func(t *testing.T, prefix, subject string) {
		s := Subjects{Prefix: prefix}
		name, ok := s.AgentOf(subject)
		if !ok {
			if name != "" {
				t.Fatalf("%q without ok", name)
			}
			return
		}
		if again, err := fika.ParseAgentName(string(name)); err != nil || again != name {
			t.Fatalf("%q is not a name: %v", name, err)
		}
		rest := subject[len(prefix)+len(".agent."):]
		_, what, _ := strings.Cut(rest, ".")
		if !strings.EqualFold(s.agent(name, what), subject) {
			t.Fatalf("%q came from %q", name, subject)
		}
	})
}

// TestNobody: a process without a bus works and hears nothing.
func TestNobody(t *testing.T) {
	var b Bus = Nobody{}
	if err := b.Publish("x", nil); err != nil {
		t.Error(err)
	}
	sub, err := b.Subscribe("x", func(Msg) { t.Error("something came") })
	if err != nil || sub.Close() != nil || Dropped(sub) != 0 {
		t.Error(err)
	}
	if _, err := b.Request(context.Background(), "x", nil); !fika.IsKind(err, fika.NotFound) {
		t.Error(err)
	}
	var state State
	b.Watch(func(s State, _ error) { state = s })
	if state != Off {
		t.Errorf("state is %s", state)
	}
	if b.Flush(context.Background()) != nil || b.MaxPayload() == 0 || b.Close() != nil {
		t.Error("a bus that is off fails")
	}
}
