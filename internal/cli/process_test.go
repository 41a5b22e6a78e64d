package cli_test

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
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/llm/llmtest"
	"fika/internal/system/process"
	"fika/internal/system/term"
)

// home is a home of its own for one test, and the program that works in it.
type home struct {
	t    *testing.T
	dir  string
	work string // where commands run
	env  []string
	by   []string // what runs fika at a terminal; empty: nothing
}

func newHome(t *testing.T, config string, env ...string) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir(), work: t.TempDir()}
	if err := os.Chmod(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.env = append([]string{"FIKA_HOME=" + h.dir, "HOME=" + h.work, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "KEY=" + llmtest.Secret}, env...)
	h.write("config.toml", config)
	return h
}

// write writes a file in one step: who reads it meanwhile reads the old one or the new.
func (h *home) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		h.t.Fatal(err)
	}
}

// program is a running fika.
type program struct {
	*exec.Cmd
	out, err term.Buffer
}

func (h *home) start(args ...string) *program {
	h.t.Helper()
	p := &program{Cmd: exec.Command("fika", args...)}
	p.Dir, p.Env, p.Stdout, p.Stderr, p.WaitDelay = h.work, h.env, &p.out, &p.err, patience
	if err := p.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// piped starts a program whose stdin and stdout somebody else has.
func (h *home) piped(in io.Reader, out io.Writer, args ...string) *program {
	h.t.Helper()
	p := &program{Cmd: exec.Command("fika", args...)}
	p.Dir, p.Env, p.Stdin, p.Stdout, p.Stderr, p.WaitDelay = h.work, h.env, in, out, &p.err, patience
	if err := p.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// says waits until a running command has said something on stderr.
func (p *program) says(t *testing.T, words string) {
	t.Helper()
	if !eventually(func() bool { return strings.Contains(p.err.String(), words) }) {
		t.Fatalf("%v never said %q:\n%s%s", p.Args, words, &p.out, &p.err)
	}
}

// wait gives the exit status; -1 for a signal.
func (p *program) wait(t *testing.T) int {
	t.Helper()
	end := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	defer end.Stop()
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// run runs a command to its end and checks its exit status.
func (h *home) run(want int, args ...string) (stdout, stderr string) {
	h.t.Helper()
	p := h.start(args...)
	if got := p.wait(h.t); got != want {
		h.t.Fatalf("fika %s: exit status %d, not %d\n%s%s", strings.Join(args, " "), got, want, &p.out, &p.err)
	}
	return p.out.String(), p.err.String()
}

func openAI(srv *llmtest.Server, more string) string {
	return fmt.Sprintf("model = \"m\"\n%s\n[[models]]\nid = \"m\"\nprovider = \"openai\"\nbase_url = %q\napi_key_env = \"KEY\"\n", more, srv.URL())
}

func asked(t *testing.T, srv *llmtest.Server, n int) []llmtest.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	list, err := srv.Await(ctx, func(r []llmtest.Record) bool { return len(r) >= n })
	if err != nil {
		t.Fatalf("the model was not asked %d times: %v", n, err)
	}
	return list
}

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q:\n%s", what, p, text)
		}
	}
}

// said is what the last user message of a request says.
func said(r llmtest.Record) string { return r.Messages[len(r.Messages)-1].Text }

func stallFirst(r llmtest.Request) llmtest.Script {
	if r.N == 1 {
		return llmtest.Script{llmtest.Text("I think "), llmtest.Stall()}
	}
	return llmtest.Script{llmtest.Text(fmt.Sprintf("answer %d", r.N))}
}

func TestCtrlC(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, stallFirst)
	h := newHome(t, openAI(srv, ""))
	p := h.start("run", "--json", "think hard")
	asked(t, srv, 1)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := p.wait(t); got != 130 {
		t.Fatalf("exit status %d\n%s", got, &p.err)
	}
	has(t, "stderr", p.err.String(), "cancelled; the conversation is kept")
	has(t, "stdout", p.out.String(), `"outcome":"cancelled"`)
	list, _ := h.run(0, "request", "list", "--json")
	has(t, "request list", list, `"state":"cancelled"`)
	out, warnings := h.run(0, "run", "next")
	if out != "answer 2\n" || warnings != "" {
		t.Errorf("after a cancelled prompt: %q, %q", out, warnings)
	}
	last := srv.Requests()[1]
	has(t, "the window", fmt.Sprint(last.Messages), "think hard", "interrupted by the user", "next")
	h.run(0, "doctor")
}

// TestTimeoutEndsAPromptInOrder: timeout(1) sends its signal to the process and to the
// group, and the second one does not end it before the first has cancelled the prompt.
func TestTimeoutEndsAPromptInOrder(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, stallFirst)
	h := newHome(t, openAI(srv, ""))
	p := h.start("run", "--json", "think hard")
	asked(t, srv, 1)
	for range 3 {
		if err := p.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	if got := p.wait(t); got != 130 {
		t.Fatalf("exit status %d\n%s", got, &p.err)
	}
	list, _ := h.run(0, "request", "list", "--json")
	has(t, "request list", list, `"state":"cancelled"`)
}

func TestKilled(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, stallFirst)
	h := newHome(t, openAI(srv, ""))
	p := h.start("run", "think hard")
	asked(t, srv, 1)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	list, _ := h.run(0, "context", "list")
	if list != "* default [stale]\n" {
		t.Errorf("context list says %q", list)
	}
	out, warnings := h.run(0, "run", "--continue")
	has(t, "stderr", warnings, "the last prompt of context \"default\" was interrupted", "fika run -c default --continue continues with it") // R3
	if out != "answer 2\n" {
		t.Errorf("--continue gave %q", out)
	}
	has(t, "the continued window", fmt.Sprint(srv.Requests()[1].Messages), "think hard")
	requests, _ := h.run(0, "request", "list", "--json")
	has(t, "request list", requests, `"state":"interrupted"`, `"retry_of":`, `"state":"done"`)
	_, why := h.run(3, "run", "--continue")
	has(t, "stderr", why, "nothing was interrupted")
	h.run(0, "doctor")
}

// A tool that ran when its prompt was killed is ended, and its call gets a
// result that says so.
func TestKilledInTool(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if r.N == 1 {
			return llmtest.Script{llmtest.Call("c1", "bash", `{"command":"echo $$ >pid; exec sleep 1000"}`)}
		}
		return llmtest.Script{llmtest.Text("understood")}
	})
	h := newHome(t, openAI(srv, "tool_permissions = [\"bash\"]")+"[guard]\nsandbox = \"off\"\n") // the pid is that of this machine
	p := h.start("run", "sleep")
	tool := awaitProcess(t, filepath.Join(h.work, "pid"))
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	out, warnings := h.run(0, "run", "what happened?")
	has(t, "stderr", warnings, "was interrupted")
	if out != "understood\n" {
		t.Errorf("stdout %q", out)
	}
	window, err := json.Marshal(srv.Requests()[1].Messages)
	if err != nil {
		t.Fatal(err)
	}
	has(t, "the window", string(window), "sleep 1000", "may or may not have run", "what happened?")
	if !eventually(func() bool { return !process.Alive(tool) }) {
		t.Errorf("process %d of the tool still runs", tool.PID)
	}
	h.run(0, "doctor")
}

func TestTurnTimeout(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if said(llmtest.Record{Request: r}) == "think hard" {
			return llmtest.Script{llmtest.Text("I think "), llmtest.Stall()}
		}
		return llmtest.Script{llmtest.Text("answered")}
	})
	h := newHome(t, openAI(srv, "turn_timeout_seconds = 1"))
	_, why := h.run(8, "run", "think hard")
	has(t, "stderr", why, "deadline has passed; the conversation is kept")
	h.write("config.toml", openAI(srv, ""))
	out, _ := h.run(0, "run", "next")
	if out != "answered\n" {
		t.Errorf("stdout %q", out)
	}
}

// awaitProcess gives the process whose pid a file comes to hold.
func awaitProcess(t *testing.T, path string) (p fika.Process) {
	t.Helper()
	named := eventually(func() bool {
		pid := 0
		data, err := os.ReadFile(path)
		if err == nil {
			_, err = fmt.Sscan(string(data), &pid)
		}
		ok := false
		if err == nil {
			p, ok = process.Identify(pid)
		}
		return ok
	})
	if !named {
		t.Fatalf("%s never named a process", path)
	}
	return p
}
