package shell_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fika"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/shell"
	"fika/internal/tool/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Case{
		Tool: shell.New(shell.Options{}),
		Good: []string{`{"command":"echo hello"}`, `{"command":"true","description":"nothing","timeout_seconds":5}`, `{"command":"head -c 3000000 /dev/urandom"}`},
		Bad:  []string{`{"command":" "}`, `{"command":"exit 3"}`, `{"command":"a\u0000b"}`, `{"command":"true","timeout_seconds":-1}`, `{"command":"` + strings.Repeat("x", 200_000) + `"}`},
		Slow: `{"command":"sleep 300 & sleep 300"}`,
	})
}

func run(t *testing.T, o shell.Options, args map[string]any) tool.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := shell.New(o).Call(t.Context(), tool.Call{Args: raw, Workspace: t.TempDir(), Step: t.Name() + "/1"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultSaysHowItEnded(t *testing.T) {
	for command, want := range map[string]string{
		"true":                   "(no output)",
		"echo a":                 "a\n",
		"echo a; exit 3":         "a\nexit status 3",
		"printf a; exit 3":       "a\nexit status 3",
		"exit 1":                 "exit status 1",
		"kill -KILL $$":          "ended by signal: killed",
		"cat":                    "(no output)",
		`printf '\033[31mred\n'`: "red\n",
	} {
		if r := run(t, shell.Options{}, map[string]any{"command": command}); r.Text != want {
			t.Errorf("%s: want %q, got %q", command, want, r.Text)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	began := time.Now()
	r := run(t, shell.Options{}, map[string]any{"command": "echo begun; sleep 300", "timeout_seconds": 3})
	if !r.IsError || !strings.HasPrefix(r.Text, "begun\nstopped after 3s") || time.Since(began) > time.Minute {
		t.Errorf("got %+v after %s", r, time.Since(began))
	}
	r = run(t, shell.Options{Timeout: 50 * time.Millisecond}, map[string]any{"command": "sleep 300"})
	if !r.IsError || !strings.Contains(r.Text, "50ms") {
		t.Errorf("got %+v", r)
	}
}

func TestEnvironmentHasNoSecrets(t *testing.T) {
	environ := []string{"PATH=/usr/bin:/bin", "HOME=/h", "LC_ALL=C", "OPENAI_API_KEY=sk", "AWS_SECRET_ACCESS_KEY=x", "FIKA_HOME=/f",
		"FIKA_API_KEY=sk", "FIKA_NATS_TOKEN=t", "FIKA_CREDS=/f/creds", "FIKA_STEP=outer/1", "LD_PRELOAD=/evil.so", "BASH_ENV=/evil", "broken", "TZ=UTC"}
	want := []string{"PATH=/usr/bin:/bin", "HOME=/h", "LC_ALL=C", "FIKA_HOME=/f", "TZ=UTC"}
	if d := cmp.Diff(want, shell.VisibleEnvironment(environ)); d != "" {
		t.Error(d)
	}
	r := run(t, shell.Options{Environ: environ, Env: []string{"FIKA_AGENT=coder"}}, map[string]any{"command": "env"})
	for _, bad := range []string{"sk", "creds", "evil", "outer", "SECRET"} {
		if strings.Contains(r.Text, bad) {
			t.Errorf("%s is in the environment:\n%s", bad, r.Text)
		}
	}
	if !strings.Contains(r.Text, "FIKA_AGENT=coder") || !strings.Contains(r.Text, "FIKA_STEP="+t.Name()+"/1") {
		t.Errorf("something is missing:\n%s", r.Text)
	}
}

func TestLongOutputIsKept(t *testing.T) {
	r := run(t, shell.Options{Limits: tool.Limits{SpoolDir: t.TempDir()}}, map[string]any{"command": "seq 1 100000"})
	if r.Spool == "" || !strings.HasPrefix(r.Text, "1\n2\n") || !strings.HasSuffix(r.Text, "99999\n100000\n") || !strings.Contains(r.Text, r.Spool) {
		t.Errorf("%d bytes, spool %q", len(r.Text), r.Spool)
	}
	if got := tool.Shorten(r, "x", tool.Limits{}); got.Text != r.Text {
		t.Error("what was shortened was shortened again")
	}
}

func TestStartedIsTold(t *testing.T) {
	var p fika.Process
	call := tool.Call{Args: json.RawMessage(`{"command":"true"}`), Workspace: t.TempDir(), Started: func(q fika.Process) { p = q }}
	if _, err := shell.New(shell.Options{}).Call(t.Context(), call); err != nil || p.PID == 0 || process.Alive(p) {
		t.Errorf("told %+v, %v", p, err)
	}
}

func BenchmarkBareBash(b *testing.B) {
	for b.Loop() {
		if _, err := exec.Command("bash", "-c", "true").CombinedOutput(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	t := shell.New(shell.Options{})
	c := tool.Call{Step: "bench/1", Args: json.RawMessage(`{"command":"true"}`), Workspace: b.TempDir(), Started: func(fika.Process) {}}
	for b.Loop() {
		if r, err := t.Call(b.Context(), c); err != nil || r.IsError {
			b.Fatal(r, err)
		}
	}
}
