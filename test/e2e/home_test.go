package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/llm/llmtest"
	"fika/internal/store"
	"fika/internal/system/term"
)

const (
	patience = 5 * time.Minute // for anything that has to happen, on a machine that does much besides
	glance   = 10 * time.Millisecond
)

// binary is the program under test, made by TestMain.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	defer servers.Stop()
	if binary = os.Getenv("FIKA_E2E_BINARY"); binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "fika-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "fika")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "fika/cmd/fika")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// home is a FIKA_HOME of its own with the store opened for looking. Whatever
// goes wrong in a helper ends the test.
type home struct {
	*testing.T
	dir     string
	db      *store.Store
	env     []string
	program string // empty: the one under test
}

// newHome makes a home with a config. When the test ends, the hub is asked to
// leave; whatever is then still there has been left behind.
func newHome(t *testing.T, config string) *home {
	t.Helper()
	h := &home{T: t, dir: filepath.Join(t.TempDir(), "home")}
	h.ok(os.Mkdir(h.dir, 0o700))
	h.write("config.toml", config)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FIKA_") && !strings.HasPrefix(kv, "USER=") && !strings.Contains(kv, "_API_KEY=") {
			h.env = append(h.env, kv)
		}
	}
	h.env = append(h.env, "FIKA_HOME="+h.dir)
	t.Cleanup(h.leave)
	return h
}

func (h *home) leave() {
	if h.Failed() {
		h.dump()
	}
	if len(h.processes("")) > 0 {
		if r := h.run("down"); r.code != 0 {
			h.Errorf("down: exit %d: %s", r.code, r.stderr)
		}
	}
	h.gone("")
	if h.db != nil {
		_ = h.db.Close()
	}
}

// dump shows the logs of a test that failed.
func (h *home) dump() {
	logs, _ := filepath.Glob(filepath.Join(h.dir, "run", "logs", "*.log"))
	for _, path := range logs {
		data, _ := os.ReadFile(path)
		h.Logf("%s:\n%s", filepath.Base(path), data[max(0, len(data)-3000):])
	}
}

func (h *home) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// write writes a file in one step: who reads it meanwhile reads the old one or the new.
func (h *home) write(name, text string) {
	h.Helper()
	path := filepath.Join(h.dir, name)
	h.ok(os.WriteFile(path+".new", []byte(text), 0o600))
	h.ok(os.Rename(path+".new", path))
}

func (h *home) read(name string) string {
	h.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	h.ok(err)
	return string(data)
}

// agent is an [[agents]] entry.
type agent struct {
	name  string
	tools string // of tool_permissions
	lazy  bool   // started by work, not with the hub
}

// config names a model server for every agent and for the person's own runs.
// Each agent has a model of its own name, so that the server can tell them
// apart.
func config(s *llmtest.Server, wire llmtest.Wire, more string, agents ...agent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model = \"own\"\ntool_permissions = [\"bash\", \"read\", \"list\"]\n%s\n", more)
	names := []string{"own"}
	for _, a := range agents {
		names = append(names, a.name)
		fmt.Fprintf(&b, "[[agents]]\nid = %q\nmodel = %q\nauto_start = %v\npersistent = %v\ntool_permissions = [%s]\n",
			a.name, a.name, !a.lazy, !a.lazy, a.tools)
	}
	for _, n := range names {
		fmt.Fprintf(&b, "[[models]]\nid = %q\nprovider = %q\nbase_url = %q\n", n, wire, s.URL())
	}
	return b.String()
}

// result is what a command gave.
type result struct {
	stdout, stderr string
	code           int
}

// run runs a command to its end.
func (h *home) run(args ...string) result {
	h.Helper()
	return h.runIn("", args...)
}

func (h *home) runIn(stdin string, args ...string) result {
	h.Helper()
	p := h.start(stdin, args...)
	return p.wait()
}

// must runs a command that has to work, and gives its output.
func (h *home) must(args ...string) string {
	h.Helper()
	r := h.run(args...)
	if r.code != 0 {
		h.Fatalf("fika %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return strings.TrimSpace(r.stdout)
}

// process is a command that runs beside the test.
type process struct {
	h      *home
	cmd    *exec.Cmd
	out    term.Buffer
	errOut term.Buffer
	ended  chan struct{}
}

func (h *home) start(stdin string, args ...string) *process {
	h.Helper()
	p := &process{h: h, ended: make(chan struct{})}
	p.cmd = exec.Command(cmp.Or(h.program, binary), args...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = h.TempDir(), h.env, &p.out, &p.errOut
	p.cmd.Stdin = strings.NewReader(stdin)
	p.cmd.WaitDelay = patience
	h.ok(p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
	}()
	h.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func (p *process) wait() result {
	p.h.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * patience):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.ended
		p.h.Fatalf("fika %s does not end\n%s%s", strings.Join(p.cmd.Args[1:], " "), &p.out, &p.errOut)
	}
	return result{p.out.String(), p.errOut.String(), p.cmd.ProcessState.ExitCode()}
}

func (p *process) signal(s syscall.Signal) { p.h.ok(p.cmd.Process.Signal(s)) }

// store opens the database; it exists once a command has run.
func (h *home) store() *store.Store {
	h.Helper()
	if h.db == nil {
		var err error
		h.db, err = store.Open(context.Background(), store.Options{Path: filepath.Join(h.dir, "fika.db")})
		h.ok(err)
	}
	return h.db
}

// until waits for something to become true.
func (h *home) until(what string, true_ func() bool) {
	h.Helper()
	h.untilFor(patience, what, true_)
}

func (h *home) untilFor(d time.Duration, what string, true_ func() bool) {
	h.Helper()
	if !waitFor(d, true_) {
		h.Fatalf("still waiting for: %s", what)
	}
}

// waitFor looks again and again until something is true, or has not become so
// in time; less often the longer it takes.
func waitFor(d time.Duration, true_ func() bool) bool {
	for began := time.Now(); !true_(); <-time.After(min(max(time.Since(began)/4, glance), 10*glance)) {
		if time.Since(began) > d {
			return false
		}
	}
	return true
}

// processes are those of this home whose command line holds the words, by pid.
// A process belongs to a home by its environment, its command line, or the
// folder it is in.
func (h *home) processes(words string) map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(d))
		line, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err != nil || len(line) == 0 || pid == os.Getpid() {
			continue
		}
		args := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		if !strings.Contains(args, words) {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(d, "environ"))
		cwd, _ := os.Readlink(filepath.Join(d, "cwd"))
		if bytes.Contains(environ, []byte(h.dir)) || strings.Contains(args+cwd, h.dir) || environ == nil && h.locked(pid) {
			found[pid] = args
		}
	}
	return found
}

// locked reports whether a context's lock names a process: only root sees more of an
// agent's process, which holds keys.
func (h *home) locked(pid int) bool {
	locks, _ := filepath.Glob(filepath.Join(h.dir, "contexts", "*", "lock"))
	for _, path := range locks {
		data, _ := os.ReadFile(path)
		var holder struct{ PID int }
		if json.Unmarshal(data, &holder) == nil && holder.PID == pid {
			return true
		}
	}
	return false
}

// pid gives the one process of this home whose command line holds the words,
// as soon as there is exactly one.
func (h *home) pid(words string) int {
	h.Helper()
	pid := 0
	h.until("one process "+words, func() bool {
		p := h.processes(words)
		for pid = range p {
		}
		return len(p) == 1
	})
	return pid
}

// gone checks that no process of this home whose command line holds the words is
// left. One that has let go of its locks, or was killed, may still be ending.
func (h *home) gone(words string) {
	h.Helper()
	if waitFor(patience, func() bool { return len(h.processes(words)) == 0 }) {
		return
	}
	for pid, line := range h.processes(words) {
		h.Errorf("left behind: %d %s", pid, line)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func agentWords(name string) string { return "agent run --by-hub --wait 10s " + name }

const hubWords = "up --foreground"

// kill ends a process the hard way and waits until it is gone.
func (h *home) kill(words string) {
	h.Helper()
	pid := h.pid(words)
	h.ok(syscall.Kill(pid, syscall.SIGKILL))
	h.until("the end of "+words, func() bool { _, there := h.processes(words)[pid]; return !there })
}

// chat makes a chat.
func (h *home) chat(name string) fika.Conversation {
	h.Helper()
	h.must("chat", "create", name)
	c, err := h.store().Conversation(h.Context(), fika.ConversationName(name))
	h.ok(err)
	return c
}

// messages are the messages of a conversation; all are its other entries too.
func (h *home) messages(c fika.ConversationID) []fika.Entry {
	h.Helper()
	return h.select_(c, fika.Message)
}

func (h *home) select_(c fika.ConversationID, types ...fika.EntryType) []fika.Entry {
	h.Helper()
	all, err := h.store().Entries(context.Background(), store.EntryQuery{Conversation: c, Types: types})
	h.ok(err)
	return all
}

// quiet waits until nothing is open, running or waiting any more.
func (h *home) quiet() {
	h.Helper()
	h.until("quiet", func() bool {
		work, err := h.store().WithWork(context.Background())
		h.ok(err)
		busy, err := h.store().ListRequests(context.Background(), store.RequestFilter{States: fika.UnfinishedStates()})
		h.ok(err)
		return len(work) == 0 && len(busy) == 0
	})
}

// settled checks what must hold of a home at rest: every request has one
// outcome and at most one final answer, every tool call exactly one result.
func (h *home) settled() {
	h.Helper()
	list, err := h.store().ListRequests(context.Background(), store.RequestFilter{})
	h.ok(err)
	for _, r := range list {
		if !r.State.Terminal() {
			h.Errorf("request %s is %s", r.ID, r.State)
		}
		entries, err := h.store().OfRequest(context.Background(), r.ID)
		h.ok(err)
		if err := wellFormed(r.Request, entries); err != nil {
			h.Errorf("request %s: %v", r.ID, err)
		}
	}
}

func wellFormed(r fika.Request, entries []fika.Entry) error {
	finals, results := 0, map[fika.EntryID]int{}
	for _, e := range entries {
		if e.Meta.Final {
			finals++
		}
		if e.Type == fika.ToolResult {
			results[e.ReplyTo]++
		}
	}
	for _, e := range entries {
		if e.Type == fika.ToolCall && results[e.ID] != 1 {
			return fmt.Errorf("tool call %s has %d results", e.ID, results[e.ID])
		}
	}
	if want := map[bool]int{true: 1}[r.State == fika.Done]; finals != want {
		return fmt.Errorf("it is %s and has %d final answers", r.State, finals)
	}
	return nil
}

// requestsTo waits until a model server has had n requests that the condition
// picks, and gives all it had.
func requestsTo(h *home, s *llmtest.Server, n int, pick func(llmtest.Record) bool) []llmtest.Record {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	count := func(list []llmtest.Record) (k int) {
		for _, r := range list {
			if pick(r) {
				k++
			}
		}
		return k
	}
	list, err := s.Await(ctx, func(list []llmtest.Record) bool { return count(list) >= n })
	if err != nil {
		h.Fatalf("the model server had %d of %d requests", count(s.Requests()), n)
	}
	return list
}

// lastSaid is the newest message of somebody else in a request, without the
// mark of its speaker.
func lastSaid(r llmtest.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == "user" {
			_, text, found := strings.Cut(m.Text, "] ")
			if !found {
				text = m.Text
			}
			return text
		}
	}
	return ""
}

// one checks a complaint: the right exit code, nothing on stdout, one line on
// stderr that holds the words.
func (h *home) one(r result, code int, words ...string) {
	h.Helper()
	line := strings.TrimSuffix(r.stderr, "\n")
	_, rest, _ := strings.Cut(line, "\n") // the hint, if there is one
	if r.code != code || r.stdout != "" || rest != "" && !strings.HasPrefix(rest, "hint: fika ") || strings.Contains(rest, "\n") || !strings.HasPrefix(line, "fika: ") {
		h.Errorf("exit %d (want %d), stdout %.200q, stderr %.600q", r.code, code, r.stdout, r.stderr)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			h.Errorf("stderr %.400q does not say %q", line, w)
		}
	}
}

func jsonLines[T any](h *home, text string) []T {
	h.Helper()
	var out []T
	dec := json.NewDecoder(strings.NewReader(text))
	for dec.More() {
		var v T
		if err := dec.Decode(&v); err != nil {
			h.Fatal(errors.Join(err, fmt.Errorf("in %.200q", text)))
		}
		out = append(out, v)
	}
	return out
}
