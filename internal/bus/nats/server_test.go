package nats

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/bus"
)

func wantKind(t *testing.T, err error, kind fika.Kind, words ...string) {
	t.Helper()
	if !fika.IsKind(err, kind) {
		t.Fatalf("error is %v, of kind %q; want kind %q", err, fika.KindOf(err), kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestServerKeepsPlaceAndSecrets(t *testing.T) {
	h := newHome(t)
	before, err := h.server.Endpoint(UserMember)
	must(t, err)
	for _, name := range []string{"hub.json", "credentials"} {
		info, err := os.Stat(filepath.Join(h.dir, name))
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	data, err := os.ReadFile(filepath.Join(h.dir, "hub.json"))
	must(t, err)
	if strings.Contains(string(data), before.Password) {
		t.Error("hub.json holds a password")
	}
	info, err := ReadEndpoint(h.dir)
	must(t, err)
	if info.PID != os.Getpid() || info.Prefix != "fika" || time.Since(info.Started) > time.Minute {
		t.Errorf("hub.json is %+v", info)
	}
	h.down(t)
	_, err = Credentials(h.dir, UserMember)
	wantKind(t, err, fika.NotFound, "fika up")
	h.up(t)
	after, err := Credentials(h.dir, UserMember)
	must(t, err)
	if before != after {
		t.Errorf("endpoint was %+v and is %+v", before, after)
	}
	_, err = Credentials(h.dir, AgentUser("nobody"))
	wantKind(t, err, fika.NotFound, "agent-nobody")
}

// occupy listens on a port for the length of the test.
func occupy(t *testing.T, port int) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(defaultHost, strconv.Itoa(port)))
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l.Addr().(*net.TCPAddr).Port
}

// TestHalfWritten: what a killed server had half written is gone with the next
// one, and nothing else.
func TestHalfWritten(t *testing.T) {
	h := newHome(t)
	h.down(t)
	for _, name := range []string{".hub.json123", ".credentials4046750031", ".history-77", ".hub.json.mine"} {
		must(t, os.WriteFile(filepath.Join(h.dir, name), []byte("{"), 0o600))
	}
	h.up(t)
	left, err := filepath.Glob(filepath.Join(h.dir, ".*"))
	must(t, err)
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if got := strings.Join(left, " "); got != ".history-77 .hub.json.mine" {
		t.Errorf("left: %s", got)
	}
}

func TestPortTaken(t *testing.T) {
	port := occupy(t, 0)
	o := (&home{dir: t.TempDir()}).options(t)
	o.Port = port
	_, err := StartServer(deadline(t), o)
	wantKind(t, err, fika.Locked, strconv.Itoa(port), "[nats] server")
}

func TestKeptPortTaken(t *testing.T) {
	h := newHome(t)
	b := h.open(t, UserHub)
	first := h.server.port
	h.down(t)
	occupy(t, first)
	h.up(t)
	if h.server.port == first {
		t.Fatal("two listen on one port")
	}
	// The connection finds the new port by itself.
	must(t, b.Publish("fika.x", nil))
	must(t, b.Flush(deadline(t)))
	h.down(t)
	second := h.server.port
	h.up(t)
	if h.server.port != second {
		t.Errorf("port was %d and is %d", second, h.server.port)
	}
}

func TestNewSecrets(t *testing.T) {
	h := newHome(t)
	b := h.open(t, UserMember)
	h.down(t)
	must(t, os.Remove(filepath.Join(h.dir, "credentials")))
	h.up(t)
	must(t, b.Flush(deadline(t)))
}

func TestServerRefuses(t *testing.T) {
	ctx := deadline(t)
	h := &home{dir: t.TempDir()}
	o := h.options(t)
	o.Host = "0.0.0.0"
	_, err := StartServer(ctx, o)
	wantKind(t, err, fika.Denied, "0.0.0.0")
	for _, prefix := range []string{"", "a b", "a.", "a.*", ">", "ä"} {
		o := h.options(t)
		o.Prefix = prefix
		_, err := StartServer(ctx, o)
		wantKind(t, err, fika.Invalid, "subject_prefix")
	}
	must(t, os.WriteFile(filepath.Join(h.dir, "credentials"), []byte("{torn"), 0o600))
	_, err = StartServer(ctx, h.options(t))
	wantKind(t, err, fika.Invalid, "credentials", "move it away")
	must(t, os.Remove(filepath.Join(h.dir, "credentials")))
	must(t, os.WriteFile(filepath.Join(h.dir, "file"), nil, 0o600))
	o = h.options(t)
	o.Dir = filepath.Join(h.dir, "file", "jetstream")
	_, err = StartServer(ctx, o)
	wantKind(t, err, fika.Storage, "jetstream")
}

func TestLogin(t *testing.T) {
	h := newHome(t)
	e, err := h.server.Endpoint(UserMember)
	must(t, err)
	for _, o := range []Options{
		{URL: e.URL},
		{URL: e.URL, User: UserMember, Password: "wrong"},
		{URL: e.URL, User: "nobody", Password: e.Password},
		{URL: e.URL, User: UserHub, Password: e.Password},
		{URL: e.URL, Token: e.Password},
	} {
		_, err := Dial(deadline(t), o)
		wantKind(t, err, fika.Denied)
	}
	b, err := Dial(deadline(t), Options{URL: e.URL, User: e.User, Password: e.Password})
	must(t, err)
	must(t, b.Close())
}

// TestEnsureAgent: a new agent logs in at once, and nobody notices.
func TestEnsureAgent(t *testing.T) {
	h := newHome(t)
	b := h.open(t, UserMember)
	states := make(chan bus.State, 8)
	b.Watch(func(s bus.State, _ error) { states <- s })
	next(t, states)
	must(t, h.server.EnsureAgent("late"))
	e, err := Credentials(h.dir, AgentUser("late"))
	must(t, err)
	must(t, h.server.EnsureAgent("late"))
	if again, err := Credentials(h.dir, AgentUser("late")); err != nil || again != e {
		t.Errorf("a second call changed the credential (%v)", err)
	}
	must(t, h.open(t, AgentUser("late")).Flush(deadline(t)))
	must(t, b.Flush(deadline(t)))
	select {
	case s := <-states:
		t.Errorf("another connection became %s", s)
	default:
	}
}

// TestPermissions: what an agent may and may not say, heard by the hub.
func TestPermissions(t *testing.T) {
	h := newHome(t)
	must(t, h.server.EnsureAgent("coder"))
	must(t, h.server.EnsureAgent("other"))
	s := bus.Subjects{Prefix: "fika"}
	hub := h.open(t, UserHub)
	heard := make(chan string, 64)
	_, err := hub.Subscribe("fika.>", func(m bus.Msg) { heard <- m.Subject })
	must(t, err)
	must(t, hub.Flush(deadline(t)))
	tests := []struct {
		who   string
		may   []string
		maynt []string
	}{
		{AgentUser("coder"),
			[]string{s.Response("coder"), s.Status("coder"), s.Heartbeat("coder"), s.Bell("coder"), s.Bell("other"), s.Chat("room"), s.Hub(), "fika.agent.other.context.request"},
			[]string{s.Response("other"), s.Status("other"), s.Heartbeat("other"), s.Control("other"), s.Request("other"), s.Dead()}},
		{UserMember,
			[]string{s.Request("coder"), s.Bell("coder"), s.Control("coder"), "fika.agent.coder.context.request", s.Chat("room"), s.Hub()},
			[]string{s.Response("coder"), s.Status("coder"), s.Dead()}},
	}
	for _, tt := range tests {
		t.Run(tt.who, func(t *testing.T) {
			b := h.open(t, tt.who)
			for _, subject := range tt.maynt {
				must(t, b.Publish(subject, nil))
			}
			for _, subject := range tt.may {
				must(t, b.Publish(subject, nil))
				if got := next(t, heard); got != subject {
					t.Fatalf("%s was heard, want %s", got, subject)
				}
			}
		})
	}
}

// TestAgentHears: an agent hears its own control and the chats, answers, and
// reads neither another's control nor another's replies.
func TestAgentHears(t *testing.T) {
	h := newHome(t)
	must(t, h.server.EnsureAgent("coder"))
	s := bus.Subjects{Prefix: "fika"}
	agent, member := h.open(t, AgentUser("coder")), h.open(t, UserMember)
	_, err := agent.Subscribe(s.Control("coder"), func(m bus.Msg) { _ = m.Respond([]byte("yes")) })
	must(t, err)
	heard := make(chan string, 8)
	for _, subject := range []string{s.Control("other"), "_INBOX.>", "fika.>", "fika.chat.>"} {
		_, err := agent.Subscribe(subject, func(m bus.Msg) { heard <- m.Subject })
		must(t, err)
	}
	must(t, agent.Flush(deadline(t)))
	answer, err := member.Request(deadline(t), s.Control("coder"), []byte("{}"))
	if err != nil || string(answer) != "yes" {
		t.Fatalf("answer %q, %v", answer, err)
	}
	_, err = member.Request(deadline(t), s.Control("other"), nil)
	wantKind(t, err, fika.NotFound)
	must(t, member.Publish(s.Control("other"), nil))
	must(t, member.Publish(s.Chat("room"), nil))
	if got := next(t, heard); got != "fika.chat.room" {
		t.Errorf("heard %s", got)
	}
	_, err = member.Subscribe("fika.agent.x.context.request", func(m bus.Msg) { _ = m.Respond([]byte("window")) })
	must(t, err)
	must(t, member.Flush(deadline(t)))
	answer, err = agent.Request(deadline(t), "fika.agent.x.context.request", nil)
	if err != nil || string(answer) != "window" {
		t.Fatalf("answer %q, %v", answer, err)
	}
}

func TestRestart(t *testing.T) {
	h := newHome(t)
	b := h.open(t, UserHub)
	states := make(chan bus.State, 16)
	b.Watch(func(s bus.State, _ error) { states <- s })
	for _, want := range []bus.State{bus.Connected, bus.Reconnecting, bus.Connected, bus.Reconnecting, bus.Connected} {
		if got := next(t, states); got != want {
			t.Fatalf("state %s, want %s", got, want)
		}
		if want == bus.Connected && len(states) == 0 {
			must(t, h.server.Restart(deadline(t)))
		}
	}
}
