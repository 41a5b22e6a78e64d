package proc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fika"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/proc"
)

// The test binary is also the process that is killed in TestKilledParent.
func TestMain(m *testing.M) {
	if script := os.Getenv("PROC_TEST_SCRIPT"); script != "" {
		c := sh(script)
		c.Step = os.Getenv("PROC_TEST_STEP")
		_, err := proc.Run(context.Background(), c)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// promptly is far less than what the processes of these tests would take by
// themselves, and enough for a machine that does much besides.
const promptly = time.Minute

func sh(script string) proc.Cmd {
	return proc.Cmd{Path: "sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, script, want string
		code               int
		signal             string
	}{
		{name: "nothing", script: "true"},
		{name: "both streams", script: "echo out; echo err >&2", want: "out\nerr\n"},
		{name: "status", script: "exit 3", code: 3},
		{name: "signal", script: "kill -KILL $$", code: 137, signal: "killed"},
		{name: "stdin is empty", script: "cat; echo done", want: "done\n"},
		{name: "a child left behind", script: "sleep 300 & echo started", want: "started\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			e, err := proc.Run(t.Context(), sh(c.script))
			if err != nil || e.Output.Text != c.want || e.Code != c.code || e.Signal != c.signal {
				t.Errorf("got %+v, %v", e, err)
			}
			if d := time.Since(began); d > promptly {
				t.Errorf("took %s", d)
			}
		})
	}
}

func TestRunTellsTheProcessAndItsOutput(t *testing.T) {
	c := sh("echo $$; cat")
	var told fika.Process
	var seen bytes.Buffer
	c.Started = func(p fika.Process) { told = p }
	c.Progress = func(p []byte) { seen.Write(p) }
	c.Stdin = strings.NewReader("from stdin")
	e, err := proc.Run(t.Context(), c)
	if err != nil || told.PID == 0 || told != e.Proc || !strings.HasSuffix(e.Output.Text, "from stdin") || seen.String() != e.Output.Text {
		t.Errorf("got %+v, told %+v, seen %q, %v", e, told, seen.String(), err)
	}
	if runtime.GOOS == "linux" && (told.Start == 0 || told.BootID == "") {
		t.Errorf("told %+v", told)
	}
	if process.Alive(told) {
		t.Error("alive after its end")
	}
}

func TestRunGivesTheEnvironmentExactly(t *testing.T) {
	t.Setenv("SECRET", "x")
	e, err := proc.Run(t.Context(), proc.Cmd{Path: "env", Env: []string{"A=1"}, Step: "r/1"})
	if err != nil || e.Output.Text != "A=1\nFIKA_STEP=r/1\n" {
		t.Errorf("got %q, %v", e.Output.Text, err)
	}
	// An empty environment is empty, not inherited.
	e, err = proc.Run(t.Context(), proc.Cmd{Path: "env"})
	if err != nil || e.Output.Text != "" {
		t.Errorf("got %q, %v", e.Output.Text, err)
	}
}

func TestRunKeepsStderrApart(t *testing.T) {
	var stderr bytes.Buffer
	c := sh("echo out; echo err >&2")
	c.Stderr = &stderr
	e, err := proc.Run(t.Context(), c)
	if err != nil || e.Output.Text != "out\n" || stderr.String() != "err\n" {
		t.Errorf("got %q, %q, %v", e.Output.Text, stderr.String(), err)
	}
}

func TestRunSaysWhatCannotStart(t *testing.T) {
	if _, err := proc.Run(t.Context(), proc.Cmd{Path: "/no/such/program"}); !fika.IsKind(err, fika.Failed) {
		t.Errorf("got %v", err)
	}
	c := sh("true")
	c.Dir = "/no/such/folder"
	if _, err := proc.Run(t.Context(), c); !fika.IsKind(err, fika.Failed) {
		t.Errorf("got %v", err)
	}
}

// cancelled runs script until it has printed a line, ends its context and
// gives what Run gave.
func cancelled(t *testing.T, c proc.Cmd) (e proc.Exit, took time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended time.Time
	c.Progress = func(p []byte) {
		if ended.IsZero() && bytes.Contains(p, []byte("ready")) {
			ended = time.Now()
			cancel()
		}
	}
	e, err = proc.Run(ctx, c)
	return e, time.Since(ended), err
}

func TestCancelEndsEverything(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by their mark on Linux alone")
	}
	for _, c := range []struct{ name, script string }{
		{"polite", "echo ready; sleep 300"},
		{"children", "sleep 300 & sleep 300 & echo ready; wait"},
		{"deaf", "trap '' TERM; echo ready; while :; do sleep 1; done"},
		{"daemon", "setsid sh -c 'trap \"\" TERM; echo ready; sleep 300' & wait"},
		{"double fork", "(setsid sh -c 'sleep 300 & echo ready' &) ; sleep 300"},
		{"stopped", "echo ready; kill -STOP $$"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := sh(c.script)
			cmd.Step = strings.ReplaceAll(t.Name(), " ", "_") + "/1"
			cmd.Grace = 300 * time.Millisecond
			e, took, err := cancelled(t, cmd)
			if !fika.IsKind(err, fika.Interrupted) || e.Output.Text != "ready\n" {
				t.Errorf("got %+v, %v", e, err)
			}
			if took > promptly {
				t.Errorf("took %s", took)
			}
			if n := process.EndMarked(cmd.Step); n != 0 {
				t.Errorf("%d processes were left", n)
			}
		})
	}
}

func TestEscapedChildDoesNotHoldTheCall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("setsid")
	}
	c := sh("mkfifo f; setsid sh -c 'echo started; echo > f; exec sleep 300' & read x < f")
	c.Dir = t.TempDir()
	c.Step = t.Name() + "/1"
	c.Drain = 50 * time.Millisecond
	began := time.Now()
	e, err := proc.Run(t.Context(), c)
	if err != nil || e.Output.Text != "started\n" || time.Since(began) > promptly {
		t.Errorf("got %+v, %v after %s", e, err, time.Since(began))
	}
	if n := process.EndMarked(c.Step); n != 1 {
		t.Errorf("ended %d, want 1", n)
	}
}

// A tool's process dies with fika, even by kill -9; what it had started is
// found by its mark.
func TestKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no parent-death signal")
	}
	dir, step := t.TempDir(), t.Name()+"/1"
	for _, name := range []string{"tool", "child"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_STEP="+step,
		"PROC_TEST_SCRIPT=cd "+dir+"; sleep 300 > child & exec sleep 300 > tool")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Opening waits for the writer; reading ends when the writer has died.
	died := map[string]*os.File{}
	for _, name := range []string{"child", "tool"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		died[name] = f
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := io.ReadAll(died["tool"]); err != nil {
		t.Error(err)
	}
	if n := process.EndMarked(step); n != 1 {
		t.Errorf("ended %d, want the child alone", n)
	}
	if _, err := io.ReadAll(died["child"]); err != nil {
		t.Error(err)
	}
}

func TestHugeOutputUsesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 500 MB through a pipe")
	}
	c := sh("yes | head -c 500000000")
	c.Limits = tool.Limits{SpoolDir: t.TempDir(), SpoolMax: 1 << 20}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e, err := proc.Run(t.Context(), c)
	runtime.ReadMemStats(&after)
	if err != nil || e.Output.Total != 500_000_000 || len(e.Output.Text) > 33<<10 {
		t.Errorf("got %d bytes, text of %d, %v", e.Output.Total, len(e.Output.Text), err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
}

func BenchmarkBareExec(b *testing.B) {
	for b.Loop() {
		if _, err := exec.Command("sh", "-c", "true").CombinedOutput(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	c := sh("true")
	c.Step = "bench/1"
	c.Started = func(fika.Process) {}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for b.Loop() {
		if e, err := proc.Run(ctx, c); err != nil || e.Code != 0 {
			b.Fatal(e, err)
		}
	}
}

// What a call leaves running is ended with it, wherever that has put itself,
// and what other calls have running is left alone.
func TestD9NothingOutlivesItsCall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are adopted on Linux alone")
	}
	children := process.NewChildren()
	if err := children.Adopt(); err != nil {
		t.Fatal(err)
	}
	run := func(step, script string, told func([]byte)) (proc.Exit, error) {
		c := sh(script)
		c.Dir, c.Step, c.Children, c.Progress = t.TempDir(), step, children, told
		return proc.Run(t.Context(), c)
	}
	leave := map[string]string{
		"a session":             "setsid sh -c 'echo $$; exec sleep 300' >f & until [ -s f ]; do :; done; cat f",
		"a double fork":         "(setsid sh -c 'sleep 300 & echo $!; exec sleep 300' >f &); until [ -s f ]; do :; done; cat f",
		"a cleared environment": "setsid env -i sh -c 'echo $$; exec sleep 300' >f & until [ -s f ]; do :; done; cat f",
		"one that ignores TERM": "setsid sh -c 'trap \"\" TERM HUP; echo $$; sleep 300; sleep 300' >f & until [ -s f ]; do :; done; cat f",
	}
	left := func(e proc.Exit, err error) int {
		t.Helper()
		pid, bad := strconv.Atoi(strings.TrimSpace(e.Output.Text))
		if err != nil || bad != nil {
			t.Fatalf("got %+v, %v", e, err)
		}
		return pid
	}
	for name, script := range leave {
		t.Run(name, func(t *testing.T) {
			pid := left(run(name+"/1", script, nil))
			if p, ok := process.Identify(pid); ok && process.Alive(p) {
				t.Errorf("process %d continues", pid)
			}
		})
	}
	t.Run("a hook without a mark", func(t *testing.T) {
		pid := left(run("", leave["a session"], nil))
		if p, ok := process.Identify(pid); ok && process.Alive(p) {
			t.Errorf("process %d continues", pid)
		}
	})
	t.Run("beside another call", func(t *testing.T) {
		// The other call has an orphan with its mark, and one without any.
		said, held := make(chan string, 1), make(chan error, 1)
		go func() {
			_, err := run("other/1", "(setsid sh -c 'echo $$; exec sleep 300' >a &); (setsid env -i sh -c 'echo $$; exec sleep 300' >b &); until [ -s a ] && [ -s b ]; do :; done; cat a b; mkfifo go; pwd; read x <go",
				func(p []byte) { said <- string(p) })
			held <- err
		}()
		var text string
		for !strings.Contains(text, "/") {
			text += <-said
		}
		words := strings.Fields(text)
		_ = left(run("this/1", leave["a session"], nil))
		var orphans []fika.Process
		for _, w := range words[:2] {
			pid, _ := strconv.Atoi(w)
			p, ok := process.Identify(pid)
			if !ok || !process.Alive(p) {
				t.Errorf("process %d of another call was ended", pid)
			}
			orphans = append(orphans, p)
		}
		f, err := os.OpenFile(filepath.Join(words[2], "go"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := <-held; err != nil {
			t.Error(err)
		}
		for _, p := range orphans {
			if process.Alive(p) {
				t.Errorf("%v outlives its call", p)
			}
		}
	})
}
