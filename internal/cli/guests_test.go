package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"fika/internal/extension/guest/guesttest"
	"fika/internal/llm/llmtest"
)

// TestAGuestIsFenced: a guest reads neither the person's keys, nor fika's home, nor the folder
// of another agent, and reaches its provider and nothing else. Without the sandbox it reads
// all of it.
func TestAGuestIsFenced(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the provider answers") }))
	t.Cleanup(provider.Close)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "somebody else answers") }))
	t.Cleanup(elsewhere.Close)
	for _, mode := range []string{"required", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n[[agents]]\nid = \"coder\"\n[guard]\nsandbox = \""+mode+"\"\n")
			h.write("agents/guest.md", fmt.Sprintf("---\nengine: acp\ncommand: [\"guestprog\"]\nhosts: [\"provider.test:80=%s\"]\n---\n", provider.Listener.Addr()))
			h.write("r.toml", "[[rule]]\nreply = \"hello\"\n")
			h.run(0, "ask", "coder", "hello") // makes its folder
			secret := map[string]string{      // what it holds, by path
				filepath.Join(h.work, ".ssh", "id_ed25519"):                 "the key of ssh",
				filepath.Join(h.work, ".claude", ".credentials.json"):       "the login of the person",
				filepath.Join(h.dir, "agents", "secret.md"):                 "a file of the home",
				filepath.Join(h.dir, "contexts", "coder", "secret"):         "a file of an agent",
				filepath.Join(h.dir, "guests", "other", ".claude", "login"): "the login of another guest",
			}
			var orders []string
			for path, text := range secret {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				orders = append(orders, "guest: do cat "+path)
			}
			orders = append(orders, "guest: do echo kept > $HOME/own && cat $HOME/own", "guest: do curl -sS --max-time 10 http://provider.test/", "guest: do curl -sS --max-time 10 http://"+elsewhere.Listener.Addr().String()+"/")
			out, _ := h.run(0, "ask", "guest", strings.Join(orders, "\n"))
			for path, text := range secret {
				if got := strings.Contains(out, text); got != (mode == "off") {
					t.Errorf("it read %s: %t\n%s", path, got, out)
				}
			}
			if !strings.Contains(out, "kept") || strings.Contains(out, "somebody else answers") != (mode == "off") {
				t.Errorf("it said\n%s", out)
			}
			if mode == "required" && !strings.Contains(out, "the provider answers") {
				t.Errorf("it does not reach its provider:\n%s", out)
			}
			h.run(0, "down")
		})
	}
}

// running returns the processes that run for a home and have all words in their command line
// and environment.
func (h *home) running(words ...string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		about, pid := string(line)+"\x00"+string(env), 0
		if _, err := fmt.Sscanf(dir, "/proc/%d", &pid); err != nil || !strings.Contains(about, h.dir) {
			continue
		}
		matches := true
		for _, word := range words {
			matches = matches && strings.Contains(about, word)
		}
		if matches {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killAll ends them with SIGKILL, and returns how many that were.
func (h *home) killAll(words ...string) (n int) {
	for _, pid := range h.running(words...) {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// TestAGuestStays: the turns of a conversation find the program of the turn before, which ends
// with the process of its agent, however that ends, and is used for nothing that it was not
// started for. With guest_idle = 0 each turn starts one.
func TestAGuestStays(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	for idle, starts := range map[string]int{"10m": 1, "0s": 3} {
		t.Run(idle, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n[tools]\nguest_idle = \""+idle+"\"\n")
			h.write("r.toml", "[[rule]]\nreply = \"hello\"\n")
			h.write("agents/guest.md", "---\nengine: acp\ncommand: [\"guestprog\"]\nenv: {A: a, B: b, C: c, D: d, E: e}\n---\n")
			home := filepath.Join(h.dir, "guests", "guest")
			started := func() int {
				raw, _ := os.ReadFile(filepath.Join(home, "starts.log"))
				return strings.Count(string(raw), "\n")
			}
			programs := func() int { return len(h.running("guestprog", "HOME="+home)) }
			is := func(what string, done func() bool) {
				t.Helper()
				if !eventually(done) {
					t.Fatalf("never: %s", what)
				}
			}
			said := 0
			say := func(room string) {
				t.Helper()
				said++
				text := fmt.Sprintf("answer %d", said)
				h.run(0, "chat", "send", room, "@guest guest: say "+text)
				is(text, func() bool { out, _ := h.run(0, "chat", "view", room); return strings.Contains(out, "guest|"+text) })
				is("the turn ends", func() bool {
					out, _ := h.run(0, "request", "list", "--limit", "1")
					return strings.Contains(out, " done ")
				})
			}
			h.run(0, "up")
			t.Cleanup(func() { h.run(0, "down") })
			h.run(0, "chat", "create", "room")
			h.run(0, "chat", "create", "hall")
			for range 3 {
				say("room")
			}
			if n := started(); n != starts {
				t.Errorf("%d programs were started for three turns, not %d", n, starts)
			}
			if idle == "0s" {
				is("nothing runs between turns", func() bool { return programs() == 0 })
				return
			}
			out, _ := h.run(0, "status")
			if !strings.Contains(out, "for its program, which stays for its next turn") || strings.Contains(out, " 0 bytes of memory") {
				t.Errorf("status:\n%s", out)
			}
			say("hall")
			if n := started(); n != 2 {
				t.Errorf("%d programs were started for two conversations", n)
			}
			h.write("agents/guest.md", "---\nengine: acp\ncommand: [\"guestprog\"]\nhosts: [\"example.org\"]\n---\n") // another profile
			say("room")
			if n := started(); n != 3 {
				t.Errorf("%d programs were started after what it may reach has changed", n)
			}
			out, _ = h.run(0, "request", "list", "--state", "running")
			if strings.Contains(out, "guest") {
				t.Errorf("a program that stays is at work:\n%s", out)
			}
			if h.killAll("agent", "run", "guest") == 0 {
				t.Fatal("no process of the agent runs")
			}
			is("nothing is left of its programs", func() bool { return programs() == 0 })
			say("room")
			if n := started(); n != 4 {
				t.Errorf("%d programs were started after a kill", n)
			}
			h.run(0, "agent", "stop", "guest")
			is("it ends with its agent", func() bool { return programs() == 0 })
		})
	}
}

// TestGuestsAtOneTable: three guests and an agent of fika's own hand a chain on for ten hops,
// begun by one message, while a program, an agent's process and the hub are killed. Each
// interruption is shown and continued by a person, nobody is prompted twice with the same, and
// the chat is whole.
func TestGuestsAtOneTable(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	model := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		all := strings.Split(r.Messages[len(r.Messages)-1].Text, "guest: hop ")
		order, _, _ := strings.Cut(all[len(all)-1], "\n")
		return llmtest.Script{llmtest.Text(guesttest.Hop(order))}
	})
	h := newHome(t, openAI(model, "")+"[[agents]]\nid = \"coder\"\n")
	names := []string{"ann", "ben", "coder", "cleo"}
	hold := map[string]string{}
	for _, name := range []string{"ann", "ben", "cleo"} {
		h.write("agents/"+name+".md", "---\nengine: acp\ncommand: [\"guestprog\"]\n---\n")
		dir := filepath.Join(h.dir, "guests", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		hold[name] = filepath.Join(dir, "hold")
	}
	stop := func(name string) { // in its next turn
		if err := syscall.Mkfifo(hold[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goOn := func(name string) { // it, and whoever is prompted after it
		f, err := os.OpenFile(hold[name], os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails while nobody reads
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(hold[name]); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	prompts := func(name string) string {
		raw, _ := os.ReadFile(filepath.Join(h.dir, "guests", name, "prompts.log"))
		return string(raw)
	}
	is := func(what string, done func() bool) {
		t.Helper()
		if !eventually(done) {
			list, _ := h.run(0, "request", "list")
			said, _ := h.run(0, "chat", "view", "room")
			t.Fatalf("%s: never\n%s\n%s", what, list, said)
		}
	}
	shows := func(words string, args ...string) func() bool {
		return func() bool { out, _ := h.run(0, args...); return strings.Contains(out, words) }
	}
	order := func(n int) string { // as it is when it has n hops to go
		for i := 10; i > n; i-- {
			names = append(names[1:], names[0])
		}
		text := fmt.Sprintf("hop %d %s", n, strings.Join(names, " "))
		for i := 10; i > n; i-- {
			names = append(names[3:], names[:3]...)
		}
		return text
	}
	retried := func() {
		t.Helper()
		out, _ := h.run(0, "request", "list", "--state", "interrupted")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		id := strings.Fields(lines[1])[0]
		if why, _ := h.run(0, "request", "show", id); !strings.Contains(why, "fika request retry "+id) {
			t.Errorf("it does not say how it goes on:\n%s", why)
		}
		h.run(0, "request", "retry", id)
	}
	waits := func(name string, n int) {
		is(name+" is prompted", func() bool { return strings.Contains(prompts(name), order(n)) })
	}

	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	h.run(0, "chat", "create", "room")
	stop("ben")
	h.run(0, "chat", "send", "room", "@ann guest: "+order(10))

	waits("ben", 9) // its program is killed in its turn
	if h.killAll("guestprog", "HOME="+filepath.Join(h.dir, "guests", "ben")) == 0 {
		t.Fatal("no program of ben runs")
	}
	is("ben is interrupted", shows("interrupted", "request", "list", "--state", "interrupted"))
	if err := os.Remove(hold["ben"]); err != nil {
		t.Fatal(err)
	}
	stop("cleo")
	retried()

	waits("cleo", 7) // the process of its agent is killed, and the program with it
	if h.killAll("agent", "run", "cleo") == 0 {
		t.Fatal("no process of cleo runs")
	}
	is("cleo is interrupted", shows("cleo", "request", "list", "--state", "interrupted"))
	if err := os.Remove(hold["cleo"]); err != nil {
		t.Fatal(err)
	}
	stop("ann")
	retried()

	waits("ann", 6) // the hub is killed: the turn goes on
	if h.killAll("up\x00--foreground") == 0 {
		t.Fatal("no hub runs")
	}
	h.run(0, "up")
	h.run(0, "chat", "pause", "room")
	goOn("ann")
	is("ben waits for the pause", shows("paused", "chat", "queue", "room"))
	if strings.Contains(prompts("ben"), order(5)) {
		t.Error("ben was prompted in a paused chat")
	}
	h.run(0, "chat", "resume", "room")
	is("the end", shows("the end", "chat", "view", "room"))

	said, _ := h.run(0, "chat", "view", "room")
	for n := 10; n >= 0; n-- {
		if got := strings.Count(said, order(n)+"\n"); got != 1 {
			t.Errorf("%q was said %d times:\n%s", order(n), got, said)
		}
	}
	for _, name := range []string{"ann", "ben", "cleo"} {
		for line := range strings.Lines(prompts(name)) {
			if told := strings.Count(prompts(name), line); strings.Contains(line, "hop ") && told != 1 {
				t.Errorf("%s was prompted %d times with %s", name, told, line)
			}
		}
	}
	trace, _ := h.run(0, "trace", "room")
	for _, name := range names {
		if !strings.Contains(trace, "@"+name+" notify") {
			t.Errorf("%s is not in the trace:\n%s", name, trace)
		}
	}
	if why, _ := h.run(0, "chat", "why", "room", "1", "ann"); !strings.Contains(why, "ann") {
		t.Errorf("why: %s", why)
	}
}

// TestAGuestDelegatesOverKills: a guest has given a task to an agent and waits for it, when its
// program, its agent's process, the hub or the process of the other agent is killed. The task is
// there once, nothing is prompted twice by itself, and the guest gets the answer, where a person
// has let it go on.
func TestAGuestDelegatesOverKills(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	for kill, early := range map[string]bool{"program": false, "agent": true, "agent again": false, "hub": false, "delegate": false} { // the task ends before the guest goes on
		t.Run(kill, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			answers := make(chan struct{})
			model := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
				asked.Add(1)
				<-answers
				return llmtest.Script{llmtest.Text("the task is done")}
			})
			release := sync.OnceFunc(func() { close(answers) })
			t.Cleanup(release)
			h := newHome(t, openAI(model, "")+"[[agents]]\nid = \"coder\"\n")
			h.write("agents/ann.md", "---\nengine: acp\ncommand: [\"guestprog\"]\n---\n")
			home := filepath.Join(h.dir, "guests", "ann")
			prompts := func() string { raw, _ := os.ReadFile(filepath.Join(home, "prompts.log")); return string(raw) }
			is := func(what string, done func() bool) {
				t.Helper()
				if !eventually(done) {
					list, _ := h.run(0, "request", "list")
					said, _ := h.run(0, "chat", "view", "room")
					t.Fatalf("%s: never\n%s\n%s", what, list, said)
				}
			}
			h.run(0, "up")
			t.Cleanup(func() { h.run(0, "down") })
			h.run(0, "chat", "create", "room")
			h.run(0, "chat", "send", "room", `@ann guest: tool delegate {"agent":"coder","prompt":"the task"}`)
			is("the other agent works", func() bool { return asked.Load() == 1 })
			again, calls := true, int32(1)
			switch kill {
			case "program":
				h.killAll("guestprog", "HOME="+home)
			case "agent", "agent again":
				h.killAll("agent", "run", "ann")
			case "hub":
				h.killAll("up\x00--foreground")
				h.run(0, "up")
				again = false
			case "delegate":
				h.killAll("agent", "run", "coder")
				again, calls = false, 2 // a model call that a kill has cut off is made again
				is("the other agent works again", func() bool { return asked.Load() == calls })
			}
			if early {
				release()
				is("the task ends", func() bool {
					out, _ := h.run(0, "request", "list", "--state", "done")
					return strings.Contains(out, "coder")
				})
			}
			if again {
				var id string
				is("ann is interrupted", func() bool {
					out, _ := h.run(0, "request", "list", "--state", "interrupted")
					for line := range strings.Lines(out) {
						if strings.Contains(line, " ann ") {
							id = strings.Fields(line)[0]
						}
					}
					return id != ""
				})
				h.run(0, "request", "retry", id)
				is("ann goes on", func() bool { return strings.Contains(prompts(), "You were interrupted") })
			}
			release()
			is("the answer", func() bool {
				out, _ := h.run(0, "chat", "view", "room")
				return strings.Contains(out, "ann|the task is done")
			})
			if n := asked.Load(); n != calls {
				t.Errorf("the model of the other agent was asked %d times", n)
			}
			if n := strings.Count(prompts(), "guest: tool delegate"); n != 1 {
				t.Errorf("ann was prompted %d times with the same:\n%s", n, prompts())
			}
			list, _ := h.run(0, "request", "list")
			if n := strings.Count(list, "task    coder"); n != 1 {
				t.Errorf("%d tasks were given:\n%s", n, list)
			}
			trace, _ := h.run(0, "trace", "room")
			if !strings.Contains(trace, "delegate") || !strings.Contains(trace, "@coder task") {
				t.Errorf("the trace:\n%s", trace)
			}
		})
	}
}
