package guest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/door/acp/acptest"
	"fika/internal/extension/guest"
	"fika/internal/extension/guest/guesttest"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/proc"
	"fika/internal/turn"
)

// TestMain is also the guest: GUESTTEST says how.
func TestMain(m *testing.M) {
	if guest.Bridges(os.Args[1:]) {
		os.Exit(guest.Bridge(os.Args[3], os.Stdin, os.Stdout, os.Stderr))
	}
	if how, set := os.LookupEnv("GUESTTEST"); set {
		os.Exit(guesttest.Serve(how))
	}
	os.Exit(m.Run())
}

type log struct{ io.Writer }

func (log) Close() error { return nil }

// host keeps what it is told, and answers what it is asked.
type host struct {
	mu     sync.Mutex
	events []string
	allow  bool
	fail   error
	told   chan string // gets each event, if not nil
	asked  func(context.Context) (bool, error)
}

func (h *host) Did(e turn.GuestEvent) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := "text " + e.Text
	switch {
	case e.Call != nil:
		c := e.Call
		text = fmt.Sprintf("call %s %s ready=%t ended=%t failed=%t %q", c.Tool, c.Args, c.Ready, c.Ended, c.Failed, c.Output)
	case e.Planned:
		text = fmt.Sprintf("plan %q", e.Plan)
	case e.Thought != "":
		text = "thought " + e.Thought
	}
	h.events = append(h.events, text)
	if h.told != nil {
		h.told <- text
	}
	return h.fail
}

func (h *host) May(ctx context.Context, c turn.GuestCall) (bool, error) {
	h.mu.Lock()
	h.events = append(h.events, fmt.Sprintf("may %s %s", c.Tool, c.Args))
	asked := h.asked
	h.mu.Unlock()
	if asked != nil {
		return asked(ctx)
	}
	return h.allow, nil
}

// Call repeats the arguments.
func (h *host) Call(_ context.Context, name string, args json.RawMessage) (tool.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, fmt.Sprintf("tool %s %s", name, args))
	return tool.Result{Text: "called " + name, IsError: strings.Contains(string(args), "bad")}, h.fail
}

// world is the home of a guest.
type world struct {
	*testing.T
	home string
}

func (w world) program(how string) guest.Program {
	return guest.Program{
		Cmd: proc.PeerCmd{Command: os.Args[0], Dir: w.home, Env: []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GUESTTEST=" + how}, Mark: fmt.Sprintf("%s/%d", w.Name(), time.Now().UnixNano()), Children: process.NewChildren()},
		Log: log{io.Discard}, Dir: w.home, Version: "1",
	}
}

func (w world) open(how, kept string, replay bool) *guest.Session {
	w.Helper()
	s, err := guest.Open(w.Context(), w.program(how), kept, replay)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

func (w world) prompt(s *guest.Session, h *host, orders ...string) turn.GuestEnd {
	w.Helper()
	end, err := s.Prompt(w.Context(), strings.Join(orders, "\n"), h)
	if err != nil {
		w.Fatal(err)
	}
	return end
}

func (w world) same(what, got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("%s: %s\nnot %s", what, got, want)
	}
}

func TestTurn(t *testing.T) {
	w := world{t, t.TempDir()}
	s := w.open("", "", false)
	h := &host{allow: true}
	end := w.prompt(s, h, "guest: think hm", "guest: plan one; two", "guest: run echo hi; exit 3", "guest: noise", "guest: foreign of others", "guest: unknown /etc/passwd", "guest: say done")
	w.same("events", strings.Join(h.events, "\n"), strings.Join([]string{
		"thought hm", `plan "- [ ] one\n- [ ] two\n"`,
		`call bash {"command":"echo hi; exit 3"} ready=false ended=false failed=false ""`,
		`may bash {"command":"echo hi; exit 3"}`,
		`call bash {"command":"echo hi; exit 3"} ready=true ended=false failed=false ""`,
		`call bash {"command":"echo hi; exit 3"} ready=true ended=true failed=true "hi\n"`,
		"text true", "text do", "text ne",
	}, "\n"))
	if end.Stop != "end_turn" || end.Usage.Input != 100 || end.Usage.Output != 20 || end.Cost != 1000 || !end.Priced {
		t.Errorf("end: %+v", end)
	}
	h = &host{}
	w.prompt(s, h, "guest: run touch never", "guest: say no")
	if _, err := os.Stat(filepath.Join(w.home, "never")); err == nil {
		t.Error("what was refused was done")
	}
	w.same("refused", h.events[len(h.events)-3], `call bash {"command":"touch never"} ready=true ended=true failed=true "the user said no"`)
	for _, stop := range []string{"refusal", "max_tokens", "max_turn_requests", "odd"} {
		w.same("stop", w.prompt(s, &host{}, "guest: stop "+stop).Stop, stop)
	}
}

func TestSessions(t *testing.T) {
	w := world{t, t.TempDir()}
	s := w.open("", "", false)
	w.prompt(s, &host{}, "the first", "and more")
	id := s.ID()
	s.Close()
	for how, want := range map[string]string{"": "the first\nand more", "noresume": "the first\nand more", "noload": ""} {
		s := w.open(how, id, true)
		w.same(how+": last prompt", fmt.Sprint(s.Known(), s.ID() == id, s.LastPrompt()), fmt.Sprint(true, true, want))
		h := &host{}
		w.prompt(s, h, "guest: say x")
		w.same(how+": nothing of the past", strings.Join(h.events, "|"), "text x")
		s.Close()
		if err := os.WriteFile(filepath.Join(w.home, "sessions", id+".json"), []byte(`{"said":["a","b","the first\nand more"]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, how := range []string{"noload noresume", ""} {
		kept := id
		if how == "" {
			kept = "unknown"
		}
		s := w.open(how, kept, true)
		w.same(how+": a new one", strings.TrimSpace(fmt.Sprint(s.Known(), s.ID() == kept, s.LastPrompt())), "false false")
		s.Close()
	}
}

func TestOpenFails(t *testing.T) {
	w := world{t, t.TempDir()}
	for how, want := range map[string]string{
		"die-at-start": "this program is not in the mood", "v2": "version 2", "login": "authentication required",
	} {
		_, err := guest.Open(t.Context(), w.program(how), "", false)
		kind := fika.Failed
		if how == "v2" {
			kind = fika.Invalid
		}
		if !fika.IsKind(err, kind) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", how, err)
		}
	}
	p := w.program("")
	p.Cmd.Command = "no-such-program"
	if _, err := guest.Open(t.Context(), p, "", false); !fika.IsKind(err, fika.Failed) {
		t.Error(err)
	}
}

// TestGone: a program that ends in the middle of its turn is told apart from one that
// fails.
func TestGone(t *testing.T) {
	w := world{t, t.TempDir()}
	s := w.open("", "", false)
	h := &host{}
	_, err := s.Prompt(t.Context(), "guest: say half\nguest: die", h)
	var gone *turn.GuestGone
	if !errors.As(err, &gone) || gone.Why != "ended with exit status 7" {
		t.Error(err)
	}
	w.same("events", strings.Join(h.events, "|"), "text ha|text lf")
}

// TestCancel: a turn ends when its context does, whether the program listens or not, and
// also while a question is open.
func TestCancel(t *testing.T) {
	for order, quick := range map[string]bool{"guest: say xy\nguest: wait": true, "guest: say xy\nguest: run sleep 60": true, "guest: say xy\nguest: hang": false} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			w := world{t, t.TempDir()}
			s := w.open("", "", false)
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("enough")
			h := &host{told: make(chan string, 10)}
			asked := make(chan bool, 1)
			h.asked = func(context.Context) (bool, error) {
				asked <- true
				<-ctx.Done()
				return false, ctx.Err()
			}
			go func() {
				<-h.told
				<-h.told
				if strings.Contains(order, "run") {
					<-asked
				}
				cancel(stop)
			}()
			begun := time.Now()
			end, err := s.Prompt(ctx, order, h)
			if quick && (err != nil || end.Stop != "cancelled") || !quick && !errors.Is(err, stop) {
				t.Errorf("%+v, %v", end, err)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestFlood: long lines are left out, many are passed on, and an error of the host ends the
// turn.
func TestFlood(t *testing.T) {
	w := world{t, t.TempDir()}
	s := w.open("", "", false)
	h := &host{}
	w.prompt(s, h, "guest: long 9000000", "guest: flood 2000", "guest: say end")
	w.same("events", fmt.Sprint(len(h.events)), "2002")
	h = &host{fail: errors.New("too much")}
	if _, err := s.Prompt(t.Context(), "guest: flood 5\nguest: wait", h); !errors.Is(err, h.fail) || len(h.events) != 1 {
		t.Errorf("%v after %d", err, len(h.events))
	}
}

// TestBareCall: a call of which only the folder is known is not taken for one of the tool's
// name, as OpenCode begins each.
func TestBareCall(t *testing.T) {
	for text, want := range map[string]bool{
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"bash","kind":"execute","status":"pending","rawInput":{"cwd":"/w"}}`:     false,
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"ls","kind":"execute","status":"pending","rawInput":{"command":"ls"}}`:   true,
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"bash","kind":"execute","status":"in_progress","rawInput":{"cwd":"/w"}}`: true,
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"a.go","kind":"read","status":"pending","rawInput":{"path":"/w/a.go"}}`:  true,
	} {
		if e, ok := guest.EventOf([]byte(text)); !ok || e.Call.Ready != want {
			t.Errorf("%s: ready is %t", text, !want)
		}
	}
}

// FuzzUpdate: whatever a program says of its calls, their arguments are an object and their
// names those of tools.
func FuzzUpdate(f *testing.F) {
	f.Add(`{"sessionUpdate":"tool_call","toolCallId":"1","kind":"execute","rawInput":{"command":["bash","-lc","ls"]}}`)
	f.Add(`{"sessionUpdate":"tool_call","toolCallId":"1","kind":"edit","locations":[{"path":"/x"}],"content":[{"type":"diff","path":"/x","newText":"y"}]}`)
	f.Add(`{"sessionUpdate":"tool_call_update","toolCallId":"1","rawInput":"text","rawOutput":7,"name":"Ünï"}`)
	f.Fuzz(func(t *testing.T, text string) {
		e, ok := guest.EventOf([]byte(text))
		if !ok || e.Call == nil {
			return
		}
		var args map[string]any
		if json.Unmarshal(e.Call.Args, &args) != nil || args == nil {
			t.Errorf("%q has the arguments %s", text, e.Call.Args)
		}
		if n := e.Call.Tool; n == "" || len(n) > 64 || strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%q calls %q", text, n)
		}
	})
}

// TestTheProgramKeepsToTheSchema: what the program of these tests says is valid by the
// published schema of the protocol, so that it can stand for programs that are.
func TestTheProgramKeepsToTheSchema(t *testing.T) {
	home := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GUESTTEST="}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := acptest.Open(t, in, out)
	id := e.Begin(home)
	n := e.Send("session/prompt", acptest.Prompt(id, "guest: think hm\nguest: plan one; two\nguest: say hello\nguest: run echo done\nguest: do echo by itself\nguest: say bye"))
	e.Reply(e.Until("session/request_permission"), "yes")
	if l := e.Answer(n, "session/prompt"); !strings.Contains(string(l.Result), "end_turn") {
		t.Errorf("%+v %s", l.Error, l.Result)
	}
	if said := acptest.Said("agent_message_chunk", e.Seen()); !strings.HasSuffix(said, "bye") {
		t.Errorf("it said %q", said)
	}
	e.Call("session/load", acptest.In(home, id))
	n = e.Send("session/prompt", acptest.Prompt(id, "guest: wait"))
	e.Cancel(id)
	if l := e.Answer(n, "session/prompt"); !strings.Contains(string(l.Result), "cancelled") {
		t.Errorf("%+v %s", l.Error, l.Result)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
