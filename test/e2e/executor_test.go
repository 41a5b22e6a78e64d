package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fika"
)

// executorRules has one command that takes as long as a file is not there.
const executorRules = `
[[rule]]
after_tool = "bash"
reply = "it said: {{.Result}}"
[[rule]]
match = "work"
tool_calls = [{name = "bash", args = {command = "id -u; echo x >> began; until [ -e go ]; do sleep 0.02; done; echo x >> ended"}}]
[[rule]]
match = "forbidden"
tool_calls = [{name = "bash", args = {command = "git push --force"}}]
`

// executorHome is a home whose agent has an executor, and a workspace that the user of
// its tools can write.
func executorHome(t *testing.T, user, more string) (h *home, workspace string) {
	t.Helper()
	workspace, err := os.MkdirTemp("", "fika-work-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(workspace) })
	if err := os.Chmod(workspace, 0o777); err != nil {
		t.Fatal(err)
	}
	entry := "[[executors]]\nname = \"box\"\n"
	if user != "" {
		entry += "user = \"" + user + "\"\n"
	}
	h = scriptedHome(t, more, autoCoder+"\nexecutor = \"box\"\ntool_permissions = [\"bash\", \"create\"]\nworkspace = \""+workspace+"\"\n"+entry)
	h.write("rules.toml", executorRules)
	return h, workspace
}

// asNobody is the user that tools run as where the tests run as root.
func asNobody() string {
	if os.Geteuid() == 0 {
		return "nobody"
	}
	return ""
}

func lines(path string) int {
	data, _ := os.ReadFile(path)
	return strings.Count(string(data), "\n")
}

const executorWords = "executor box --by-hub"

// TestExecutor: tools run in another process as another user, and whoever is killed
// meanwhile, each step is run once and none is lost.
func TestExecutor(t *testing.T) {
	t.Parallel()
	user := asNobody()
	h, work := executorHome(t, user, "")
	h.must("up")
	for _, c := range []struct {
		killed string // its command line; empty: nobody
		says   string // the result of the call
		ended  int
	}{
		{"", "0", 1},
		{agentWords("coder"), "0", 1},
		{hubWords, "0", 1},
		{executorWords, "interrupted: it may or may not have run", 0},
	} {
		began, ended, proceed := filepath.Join(work, "began"), filepath.Join(work, "ended"), filepath.Join(work, "go")
		for _, f := range []string{began, ended, proceed} {
			_ = os.Remove(f)
		}
		id := h.must("ask", "--no-wait", "coder", "work")
		h.until("the command", func() bool { return lines(began) > 0 })
		if c.killed != "" {
			h.kill(c.killed)
		}
		if c.killed == hubWords {
			h.must("up")
		}
		if c.killed != executorWords {
			h.ok(os.WriteFile(proceed, nil, 0o666))
		}
		h.untilState(id, fika.Done)
		steps, err := h.store().Steps(context.Background(), fika.RequestID(id))
		h.ok(err)
		if n := lines(began); n != 1 || lines(ended) != c.ended || len(steps) != 3 {
			t.Errorf("%q killed: begun %d times, ended %d; %+v", c.killed, n, lines(ended), steps)
		}
		answer := h.request(id).Outcome.Answer
		want := c.says
		if want == "0" {
			want = "it said: " + idOf(user)
		}
		if !strings.Contains(answer, want) {
			t.Errorf("%q killed: %q instead of %q", c.killed, answer, want)
		}
		if _, left, err := h.store().Execution(context.Background(), fika.RequestID(id), 2); left || err != nil {
			t.Errorf("%q killed: it is still with the executor (%v)", c.killed, err)
		}
	}
	h.gone("until [ -e go")
	h.one(h.run("executor", "box"), 4, "runs already")
	if out := h.must("status"); !strings.Contains(out, "box: running") {
		t.Errorf("status:\n%s", out)
	}
	h.one(h.run("executor", "bok"), 3, "did you mean", "box")
	h.must("down") // also what another hub had started
	h.gone(executorWords)
}

// idOf is what id -u says.
func idOf(user string) string {
	if user == "nobody" {
		return "65534"
	}
	return ""
}

// TestExecutorAsks: a call that a person has to allow waits for that outside the
// executor, whoever is killed meanwhile, and runs once, when it is allowed. Nobody
// else's yes counts: the executor judges again.
func TestExecutorAsks(t *testing.T) {
	t.Parallel()
	h, work := executorHome(t, asNobody(), "[[rules]]\ntool = \"bash\"\nmatch = \"id *\"\ndo = \"ask\"\n")
	h.must("up")
	h.ok(os.WriteFile(filepath.Join(work, "go"), nil, 0o666)) // a yes is to the call with the files it names as they are
	ids := [2]string{h.must("task", "--no-wait", "coder", "work"), h.must("task", "--no-wait", "coder", "work")}
	h.until("a question", func() bool { return strings.Contains(h.must("approve"), "2  @coder") })
	for _, words := range []string{executorWords, agentWords("coder"), hubWords} {
		h.kill(words)
	}
	h.must("up")
	began := filepath.Join(work, "began")
	if lines(began) != 0 {
		t.Error("it ran before it was allowed")
	}
	h.must("approve", "--deny", "not today", "2")
	h.must("approve", "1")
	for _, id := range ids {
		h.untilState(id, fika.Done)
	}
	if n := lines(began); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	answers := h.request(ids[0]).Outcome.Answer + "; " + h.request(ids[1]).Outcome.Answer
	if !strings.Contains(answers, idOf(asNobody())) || !strings.Contains(answers, "not today") {
		t.Errorf("the answers: %s", answers)
	}
}

// TestExecutorCancel: a call that is cancelled is ended in the executor, too.
func TestExecutorCancel(t *testing.T) {
	t.Parallel()
	h, work := executorHome(t, asNobody(), "")
	h.must("up")
	id := h.must("ask", "--no-wait", "coder", "work")
	h.until("the command", func() bool { return lines(filepath.Join(work, "began")) > 0 })
	h.must("request", "cancel", id)
	h.untilState(id, fika.Cancelled)
	h.until("the end of the command", func() bool { return len(h.processes("until [ -e go")) == 0 })
}

// TestExecutorObeysTheStoreAlone: messages on the bus make an executor run nothing,
// whoever sends them; nor does a row that nobody's turn has a right to.
func TestExecutorObeysTheStoreAlone(t *testing.T) {
	t.Parallel()
	h, work := executorHome(t, "", "[[rules]]\ntool = \"bash\"\nmatch = \"git push *\"\ndo = \"deny\"\nwhy = \"only people push\"\n")
	h.must("up")
	h.pid(executorWords)
	nc, err := nats.Connect(h.must("status", "--show-bus")) // a member, whose credential every client has
	h.ok(err)
	defer nc.Close()
	forged, err := json.Marshal(map[string]any{
		"request": "r", "n": 2, "executor": "box", "tool": "bash", "call": map[string]any{"args": map[string]string{"command": "touch " + work + "/forged"}, "workspace": work},
	})
	h.ok(err)
	for _, subject := range []string{"fika.executor.box.bell", "fika.executor.box.call", "fika.executor.box.request", "fika.agent.box.request"} {
		for _, body := range [][]byte{nil, forged, []byte("{")} {
			h.ok(nc.Publish(subject, body))
		}
	}
	h.ok(nc.Flush())
	// What it is woken for is looked for in the store; this finds its turn in order.
	h.ok(os.WriteFile(filepath.Join(work, "go"), nil, 0o666))
	id := h.must("ask", "--no-wait", "coder", "work")
	h.untilState(id, fika.Done)
	if _, err := os.Stat(filepath.Join(work, "forged")); err == nil {
		t.Error("a message has made the executor run something")
	}
	// A rule that came after the turn had been let through holds in the executor.
	id = h.must("ask", "--no-wait", "coder", "forbidden")
	h.untilState(id, fika.Done)
	if text := h.request(id).Outcome.Answer; !strings.Contains(text, "only people push") {
		t.Errorf("it answered %q", text)
	}
}

// TestExecutorThatNobodyRuns: who waits says for what, and which command helps.
func TestExecutorThatNobodyRuns(t *testing.T) {
	t.Parallel()
	h, work := executorHome(t, "", "[hub]\nautostart = false\n")
	h.ok(os.WriteFile(filepath.Join(work, "go"), nil, 0o666))
	prompt := h.start("", "run", "-c", "coder", "work please")
	h.until("words about what is waited for", func() bool { return strings.Contains(prompt.errOut.String(), "fika executor box starts it") })
	box := h.start("", "executor", "box")
	r := prompt.wait()
	if r.code != 0 || !strings.Contains(r.stdout, "it said") {
		t.Errorf("got %+v", r)
	}
	box.signal(syscall.SIGINT)
	if r := box.wait(); r.code != 0 || !strings.Contains(r.stderr, "executor box is ready") {
		t.Errorf("the executor: %+v", r)
	}
}

// fileRules make each prompt one call of a file tool, and the answer its result.
const fileRules = `
[[rule]]
after_tool = ".*"
reply = "{{.Result}}"
[[rule]]
match = '^read (?P<path>\S+)'
tool_calls = [{name = "read", args = {path = "{{.Group.path}}"}}]
[[rule]]
match = '^list (?P<path>\S+)'
tool_calls = [{name = "list", args = {path = "{{.Group.path}}"}}]
[[rule]]
match = '^create (?P<path>\S+) (?P<text>.+)'
tool_calls = [{name = "create", args = {path = "{{.Group.path}}", content = "{{.Group.text}}"}}]
[[rule]]
match = '^edit (?P<path>\S+) (?P<old>\S+) (?P<new>\S+)'
tool_calls = [{name = "edit", args = {path = "{{.Group.path}}", old = "{{.Group.old}}", new = "{{.Group.new}}"}}]
[[rule]]
match = '^wait$'
tool_calls = [{name = "bash", args = {command = "true", background = true}}]
`

// TestExecutorFiles: the file tools of an agent that has an executor work as its user, by
// the same rules as at home: what the user may not read is refused, what is changed can be
// undone, questions are asked, and a killed executor's change is made once (row K-24).
func TestExecutorFiles(t *testing.T) {
	t.Parallel()
	user := asNobody()
	h, work := executorHome(t, user, "[hub]\nautostart = false\n[[rules]]\ntool = \"edit\"\npath = \"asked/*\"\ndo = \"ask\"\n")
	config := h.read("config.toml")
	h.write("config.toml", strings.Replace(config, `["bash", "create"]`, `["bash", "read", "list", "edit", "create"]`, 1))
	h.write("rules.toml", fileRules)
	file := func(name, text string, mode os.FileMode, theirs bool) string {
		path := filepath.Join(work, name)
		h.ok(os.MkdirAll(filepath.Dir(path), 0o777))
		h.ok(os.WriteFile(path, []byte(text), 0o600))
		if theirs && user != "" {
			h.ok(os.Chown(path, 65534, 65534))
			h.ok(os.Chown(filepath.Dir(path), 65534, 65534))
		}
		h.ok(os.Chmod(path, mode))
		return path
	}
	file("theirs", "one\n", 0o644, true)
	file("yours", "two\n", 0o644, false)
	file("secret", "three\n", 0o600, false)
	file("asked/file", "four\n", 0o644, true)
	file(".envrc", "five\n", 0o666, true)
	link := filepath.Join(work, "second-name")
	h.ok(os.Link(filepath.Join(h.dir, "rules.toml"), link))
	h.ok(os.Chmod(link, 0o644))

	// A change under way when the executor is killed has not been made, and is made once:
	// what would be noted before it does not get through the pipe.
	id := h.must("ask", "--no-wait", "coder", "edit theirs one 1")
	held := filepath.Join(h.dir, "undo", "turns", id+".jsonl")
	h.ok(os.MkdirAll(filepath.Dir(held), 0o700))
	h.ok(syscall.Mkfifo(held, 0o600))
	pipe, err := os.OpenFile(held, os.O_RDWR|syscall.O_NONBLOCK, 0)
	h.ok(err)
	defer pipe.Close()
	h.ok(pipe.SetWriteDeadline(time.Now().Add(time.Second)))
	_, err = pipe.Write(make([]byte, 1<<20)) // as much as it holds
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	h.must("up")
	h.until("the change", func() bool {
		left, _ := filepath.Glob(filepath.Join(work, ".fika-*.tmp"))
		return len(left) == 1
	})
	h.ok(os.Remove(held))
	h.kill(executorWords)
	h.untilState(id, fika.Done)
	if text, _ := os.ReadFile(filepath.Join(work, "theirs")); string(text) != "1\n" || !strings.Contains(h.request(id).Outcome.Answer, "edited theirs") {
		t.Errorf("after a kill: %q, %q", text, h.request(id).Outcome.Answer)
	}
	if left, _ := filepath.Glob(filepath.Join(work, ".fika-*.tmp")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}

	refusal := func(text string) string { // to a user of its own
		if user == "" {
			return ""
		}
		return text
	}
	for _, c := range [][2]string{
		{"read theirs", "1"}, {"read yours", "two"}, {"read secret", refusal("permission denied")}, {"list .", "theirs"},
		{"create made/new words", "created made/new"}, {"read made/new", "words"}, {"edit theirs 1 uno", "edited theirs"}, {"edit yours two 2", refusal("permission denied")},
		{"edit .envrc five 5", "is obeyed by a program"}, {"read second-name", "out of reach"}, {"read /etc/passwd", "outside the workspace"}, {"wait", "not started: commands run in the background only"},
	} {
		if got := h.must("ask", "coder", c[0]); c[1] != "" && !strings.Contains(got, c[1]) {
			t.Errorf("%s: %q instead of %q", c[0], got, c[1])
		}
	}
	if user != "" {
		for name, uid := range map[string]uint32{"made/new": 65534, "theirs": 65534, "yours": 0} {
			var st syscall.Stat_t
			h.ok(syscall.Stat(filepath.Join(work, name), &st))
			if st.Uid != uid {
				t.Errorf("%s belongs to %d instead of %d", name, st.Uid, uid)
			}
		}
	}

	asked := h.must("ask", "--no-wait", "coder", "edit asked/file four 4")
	h.until("a question", func() bool { return strings.Contains(h.must("approve"), "1  @coder") })
	h.must("approve", "1")
	h.untilState(asked, fika.Done)
	for _, want := range []string{"4\n", "four\n"} {
		if text, err := os.ReadFile(filepath.Join(work, "asked", "file")); string(text) != want {
			t.Errorf("%q instead of %q (%v)", text, want, err)
		}
		if want == "4\n" {
			h.must("undo", "-y", asked)
		}
	}
	h.must("down")
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "fika-65534", "*"+strings.ReplaceAll(h.dir, "/", "-")[1:]+"*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
